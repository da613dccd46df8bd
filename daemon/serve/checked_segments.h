// Whether the samples behind a part of a store are whole, by their checksums alone: a list of executions
// reads the catalogue and no samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>

#include "daemon/store/block_reader.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

struct Checked {
  store::ReadReport read;            // how many samples are missing is not known of it
  std::uint64_t left_out_bytes = 0;  // of segments that nobody looked at: there are too many
  std::string unreadable;            // the first segment that cannot be read at all, and why; "": all can
};

// Any thread.
class CheckedSegments {
 public:
  // `rows` are data segments by number. Looks at the newest of them, up to `most_bytes` of those that it has
  // not seen yet: one that is complete is looked at once. Fails where the asker has no time left.
  Result<Checked> look_at(const std::string& directory, std::span<const store::SegmentRow> rows,
                          std::uint64_t most_bytes, const Stop& stop);

 private:
  bool knows(const store::SegmentRow& row);
  Status look_at_one(const std::string& directory, const store::SegmentRow& row, store::ReadReport& read);

  static constexpr std::size_t kMostKnown = 16'384;
  std::mutex mutex_;
  std::map<std::uint64_t, store::ReadReport> known_;  // of complete ones, by number
};

}  // namespace tailor::serve
