// The files in which summaries lie: "<first>-<last>.summary" in the directory of the store, by the numbers of
// the data segments that they sum up. A file appears as a whole, and what it sums up is summed up for good.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "daemon/os/files.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::store {

struct SummaryFile {
  std::uint64_t first = 0, last = 0, bytes = 0;
};
std::string summary_path(const std::string& directory, const SummaryFile& file);

// By number. A file that another one contains is left out: a crash may have left it behind.
Result<std::vector<SummaryFile>> list_summaries(const std::string& directory);
// Data segments up to this number are summed up: a report of sums and samples leaves them out. 0: none are.
std::uint64_t summed_up_to(const std::vector<SummaryFile>& files);

struct SummaryRetention {
  std::uint64_t keep_bytes = 256u << 20;                    // of all files together, 0 for ever
  std::uint64_t keep_ns = 400ull * 86'400 * 1'000'000'000;  // 0 for ever
  std::uint64_t merge_bytes = 256u << 10;                   // a file grows up to this size
  std::uint64_t hours_ns = 35ull * 86'400 * 1'000'000'000;  // hours that are older become days, 0 never
};

// One writer at a time: that of the store.
class SummaryWriter {
 public:
  explicit SummaryWriter(std::string directory, os::Files& files = os::real_files())
      : directory_(std::move(directory)), files_(files) {}

  // Puts `more`, which follows everything that is there, beside it: in a file of its own, or with the newest
  // one in its place. It is durable when this has succeeded. Where it has failed, it is there as a whole or
  // not at all.
  Status put(const Summary& more, const SummaryRetention& retention);
  // Removes what is too old, and what crashes left. Makes days of old hours. Beyond the size the least
  // expensive queries of every hour become one, in the oldest files first; only where nothing else is left
  // do the oldest files go. `now_ns`: CLOCK_REALTIME.
  Status retain(const SummaryRetention& retention, std::uint64_t now_ns, const Stop& stop = Stop());

  os::Files& files() { return files_; }

 private:
  // Of a file, so that it is not read again each time.
  struct Known {
    std::uint64_t last = 0, bytes = 0;
    Hour end = 0;                  // of its newest row
    Hour first_hour = INT64_MAX;   // of those that are of an hour
    std::size_t most_queries = 0;  // with a row of their own, of an hour or day
  };

  Status write(const Summary& summary, std::uint64_t& bytes);
  // In the place of that file.
  Status rewrite(SummaryFile& file, const Summary& summary);
  Status remove(const std::string& path);
  Result<std::vector<SummaryFile>> clear_away();
  // Null where the file cannot be read: it stays as it is.
  const Known* known(const SummaryFile& file);
  void note(const SummaryFile& file, const Summary& summary);
  Status remove_old(std::vector<SummaryFile>& files, const SummaryRetention& retention, std::uint64_t now_ns);
  Status make_days(std::vector<SummaryFile>& files, Hour until, const Stop& stop);
  Status merge_days(std::vector<SummaryFile>& files, std::uint64_t most_bytes, const Stop& stop);
  Result<bool> merge(SummaryFile& file, const SummaryFile& next);
  Status fit(std::vector<SummaryFile>& files, std::uint64_t most_bytes, const Stop& stop);
  Status shrink(SummaryFile& file, std::size_t queries);

  std::string directory_;
  os::Files& files_;
  std::map<std::uint64_t, Known> known_;  // by the first segment
};

// A file of the list. Fails with ENOENT where a writer has replaced it meanwhile, and for one whose contents
// are not what its name says.
Result<Summary> read_summary(const std::string& directory, const SummaryFile& file);

}  // namespace tailor::store
