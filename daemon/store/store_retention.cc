#include "daemon/store/store_retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::store {

void StoreRetention::set(std::uint64_t keep_bytes, std::uint64_t keep_ns) {
  options_.keep_bytes = keep_bytes;
  options_.keep_ns = keep_ns;
}

Status StoreRetention::remove_segment(Catalogue& catalogue, std::uint64_t number, FileKind kind) const {
  if (auto ok = catalogue.drop_segment(number); !ok) return ok;
  return remove_file(number, kind);
}

Status StoreRetention::remove_file(std::uint64_t number, FileKind kind) const {
  const std::string path = segment_path(directory_, number, kind);
  const Status removed = options_.files->remove(path);
  if (removed || removed.error().code == ENOENT) return Ok{};
  return in_context(fmt::format("cannot remove {}: ", path), removed.error());
}

// A segment of this recording keeps the time of day that it had: a clock that was set since makes it no
// older, and no younger.
std::uint64_t StoreRetention::age_of(const SegmentRow& row, const StoreTime& now) const {
  if (row.recording == recording_ && row.first != kTimeMax)
    return static_cast<std::uint64_t>(std::max<TimeNs>(0, now.watermark - row.first));
  return now.wall_ns > row.wall_ns ? now.wall_ns - row.wall_ns : 0;
}

std::vector<SegmentRow> StoreRetention::due(const std::vector<SegmentRow>& rows, const StoreTime& now) const {
  std::uint64_t bytes = 0;
  for (const SegmentRow& row : rows) bytes += row.bytes;
  std::vector<SegmentRow> out;
  for (const SegmentRow& row : rows) {
    if (row.kind != FileKind::kDataSegment || !row.sealed) continue;
    const bool too_old = options_.keep_ns != 0 && age_of(row, now) > options_.keep_ns;
    const bool too_much = options_.keep_bytes != 0 && bytes > options_.keep_bytes;
    if (!too_old && !too_much && !row.given_up()) break;
    out.push_back(row);
    bytes -= std::min(bytes, row.bytes);
  }
  return out;
}

Status StoreRetention::apply(Catalogue& catalogue, const StoreTime& now) {
  auto rows = catalogue.segments();
  if (!rows) return rows.error();
  for (const SegmentRow& row : due(*rows, now)) {
    if (options_.summaries && row.number > summed_up_to_) break;
    if (auto ok = remove_segment(catalogue, row.number, row.kind); !ok) return ok;
    removed_.push_back(fmt::format("segment {} with {} samples: it was too old, or the store too large",
                                   row.number, row.samples));
  }
  Status dictionaries = remove_unused_dictionaries(catalogue, *rows);
  std::uint64_t oldest = now.wall_ns;
  for (const SegmentRow& row : *rows) {
    if (row.kind == FileKind::kDataSegment) oldest = std::min(oldest, row.wall_ns);
  }
  Status forgotten = catalogue.forget_removed(oldest);
  if (!forgotten && forgotten.error().code != EBUSY && dictionaries) return forgotten;
  return dictionaries;
}

Status StoreRetention::remove_unused_dictionaries(Catalogue& catalogue, const std::vector<SegmentRow>& rows) {
  auto unused = catalogue.unused_dictionaries();
  if (!unused) return unused.error();
  std::set<std::uint64_t> written;
  for (const SegmentRow& row : rows) {
    if (!row.sealed) written.insert(row.number);
  }
  Status first = Ok{};
  for (std::uint64_t number : *unused) {
    const auto sealed = sealed_while_.find(number);
    if (sealed != sealed_while_.end() && written.contains(sealed->second)) continue;
    const Status removed = remove_segment(catalogue, number, FileKind::kDictionarySegment);
    if (removed) removed_.push_back(fmt::format("dictionary segment {}, which no samples use", number));
    if (removed) sealed_while_.erase(number);
    if (first) first = removed;
  }
  return first;
}

Status StoreRetention::drop_old_executions(Catalogue& catalogue, const StoreTime& now) const {
  constexpr std::uint64_t kRows = 20'000;
  if (options_.keep_ns == 0) return Ok{};
  const auto keep = static_cast<TimeNs>(std::min<std::uint64_t>(options_.keep_ns, kTimeMax));
  auto dropped = catalogue.drop_old_executions(recording_, now.watermark - keep,
                                               now.wall_ns - std::min(now.wall_ns, options_.keep_ns), kRows);
  return dropped ? Status(Ok{}) : Status(dropped.error());
}

Result<std::vector<SegmentRow>> StoreRetention::due_for_summary(const Catalogue& catalogue,
                                                                const StoreTime& now) const {
  if (!options_.summaries) return std::vector<SegmentRow>{};
  auto rows = catalogue.segments();
  if (!rows) return rows;
  std::vector<SegmentRow> out = due(*rows, now);
  std::erase_if(out, [this](const SegmentRow& row) { return row.number <= summed_up_to_; });
  return out;
}

void StoreRetention::summed_up(std::uint64_t last) {
  summed_up_to_ = std::max(summed_up_to_, last);
}

Result<bool> StoreRetention::give_up_oldest(Catalogue& catalogue, const StoreTime& now) {
  const auto rows = due_for_summary(catalogue, now);
  if (!rows) return rows.error();
  const auto oldest = std::ranges::find_if(*rows, [](const SegmentRow& row) { return !row.given_up(); });
  if (oldest == rows->end()) return false;
  // The file first: on a full disk the catalogue needs its room.
  Status removed = remove_file(oldest->number, oldest->kind);
  SegmentRow row = *oldest;
  row.bytes = 0;
  if (removed) removed = catalogue.put_segment(row);
  if (!removed) return removed.error();
  ++given_up_.segments;
  given_up_.samples += row.samples;
  removed_.push_back(
      fmt::format("segment {} with {} samples, which could not be summed up", row.number, row.samples));
  return true;
}

}  // namespace tailor::store
