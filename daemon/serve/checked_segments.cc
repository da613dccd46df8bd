#include "daemon/serve/checked_segments.h"

#include <utility>

#include "daemon/store/store_reader.h"

namespace tailor::serve {

Result<Checked> CheckedSegments::look_at(const std::string& directory,
                                         std::span<const store::SegmentRow> rows, std::uint64_t most_bytes,
                                         const Stop& stop) {
  Checked out;
  std::size_t first = rows.size();
  for (std::uint64_t left = most_bytes; first > 0; --first) {
    const store::SegmentRow& row = rows[first - 1];
    const std::uint64_t bytes = knows(row) ? 0 : row.bytes;
    if (bytes > left) break;
    left -= bytes;
  }
  for (const store::SegmentRow& row : rows.first(first)) out.left_out_bytes += row.bytes;
  for (const store::SegmentRow& row : rows.subspan(first)) {
    if (stop.stopped()) return stop.error();
    Status done = look_at_one(directory, row, out.read);
    if (!done && out.unreadable.empty()) out.unreadable = done.error().message;
  }
  // Without damage none is missing. With some, nobody counted what is.
  const store::ReadReport& read = out.read;
  out.read.finished =
      out.unreadable.empty() && read.damaged_spots + read.malformed_blocks + read.missing_blocks == 0;
  return out;
}

bool CheckedSegments::knows(const store::SegmentRow& row) {
  const std::lock_guard lock(mutex_);
  return row.sealed && known_.contains(row.number);
}

Status CheckedSegments::look_at_one(const std::string& directory, const store::SegmentRow& row,
                                    store::ReadReport& read) {
  if (row.sealed) {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(row.number); found != known_.end()) {
      store::add_report(found->second, read);
      return Ok{};
    }
  }
  store::ReadReport one;
  if (Status done = store::check_segment(directory, row, one); !done) return done;
  store::add_report(one, read);
  if (!row.sealed) return Ok{};
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kMostKnown) known_.clear();
  known_.insert_or_assign(row.number, std::move(one));
  return Ok{};
}

}  // namespace tailor::serve
