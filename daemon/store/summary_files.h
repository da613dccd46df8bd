// The files in which summaries lie: "<first>-<last>.summary" in the directory of the store, by the numbers of
// the data segments that they sum up. A file appears as a whole, and what it sums up is summed up for good.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/os/files.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"

namespace tailor::store {

struct SummaryFile {
  std::uint64_t first = 0, last = 0, bytes = 0;
};
std::string summary_path(const std::string& directory, const SummaryFile& file);

// By number. What another file contains is left out: a crash may have left it behind.
Result<std::vector<SummaryFile>> list_summaries(const std::string& directory);
// Data segments up to this number are summed up: whoever adds sums and samples leaves them out. 0: none are.
std::uint64_t summed_up_to(const std::vector<SummaryFile>& files);

struct SummaryRetention {
  std::uint64_t keep_bytes = 256u << 20;                    // of all files together, 0 for ever
  std::uint64_t keep_ns = 400ull * 86'400 * 1'000'000'000;  // 0 for ever
  std::uint64_t merge_bytes = 256u << 10;                   // a file grows up to this size
};

// One writer at a time: whoever writes the store.
class SummaryWriter {
 public:
  explicit SummaryWriter(std::string directory, os::Files& files = os::real_files())
      : directory_(std::move(directory)), files_(files) {}

  // Puts `more`, which follows everything that is there, beside it: in a file of its own, or with the newest
  // one in its place. It is durable when this has succeeded. Where it has failed, it is there as a whole or
  // not at all.
  Status put(const Summary& more, const SummaryRetention& retention);
  // Removes the oldest files beyond the limits, and what crashes left. `now_ns`: CLOCK_REALTIME.
  Status retain(const SummaryRetention& retention, std::uint64_t now_ns);

  os::Files& files() { return files_; }

 private:
  Status write(const Summary& summary, std::uint64_t& bytes);
  Status remove(const std::string& path);

  std::string directory_;
  os::Files& files_;
};

// A file of the list. Fails with ENOENT where a writer has replaced it meanwhile, and for one whose contents
// are not what its name says.
Result<Summary> read_summary(const std::string& directory, const SummaryFile& file);

}  // namespace tailor::store
