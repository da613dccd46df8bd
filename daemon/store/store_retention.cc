// What StoreWriter removes, and when.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "proto/base/errors.h"

namespace tailor::store {

Status StoreWriter::remove_segment(std::uint64_t number, FileKind kind) {
  if (auto ok = catalogue_.drop_segment(number); !ok) return ok;
  return remove_file(number, kind);
}

Status StoreWriter::remove_file(std::uint64_t number, FileKind kind) {
  const std::string path = segment_path(directory_, number, kind);
  const Status removed = options_.files->remove(path);
  if (removed || removed.error().code == ENOENT) return Ok{};
  return in_context(fmt::format("cannot remove {}: ", path), removed.error());
}

void StoreWriter::set_retention(std::uint64_t keep_bytes, std::uint64_t keep_ns,
                                std::uint64_t catalogue_bytes) {
  options_.keep_bytes = keep_bytes;
  options_.keep_ns = keep_ns;
  budget_.set_most(catalogue_bytes);
}

// In the transaction that adds to it: as much goes as comes, and more while there is too much. Nothing waits
// for long.
Status StoreWriter::make_room_in_catalogue() {
  constexpr std::uint64_t kRows = 8192;
  return budget_.make_room(catalogue_, kRows + 2 * notes_.rows(), wall_now());
}

// Those with samples go with their segments.
Status StoreWriter::drop_old_executions() {
  constexpr std::uint64_t kRows = 20'000;
  const std::uint64_t now = wall_now();
  if (options_.keep_ns == 0) return Ok{};
  const auto keep = static_cast<TimeNs>(std::min<std::uint64_t>(options_.keep_ns, kTimeMax));
  auto dropped = catalogue_.drop_old_executions(recording_, watermark_ - keep,
                                                now - std::min(now, options_.keep_ns), kRows);
  return dropped ? Status(Ok{}) : Status(dropped.error());
}

// A few times a minute.
void StoreWriter::tidy_catalogue() {
  constexpr TimeNs kEvery = 20'000'000'000;
  if (waits_for_readers_ || watermark_ - tidied_ < kEvery) return;
  tidied_ = watermark_;
  // Whoever reads the catalogue now does not do so the next time.
  const auto complain_unless_read = [this](const Status& status) {
    if (!status && status.error().code != EBUSY) complain(status);
  };
  complain_unless_read(drop_old_executions());
  complain_unless_read(budget_.give_back(catalogue_, false));
  tell_removed(budget_.news(catalogue_));
}

std::vector<SegmentRow> StoreWriter::due(const std::vector<SegmentRow>& rows) const {
  std::uint64_t bytes = 0;
  for (const SegmentRow& row : rows) bytes += row.bytes;
  std::vector<SegmentRow> out;
  for (const SegmentRow& row : rows) {
    if (row.kind != FileKind::kDataSegment || !row.sealed) continue;
    const bool too_old = options_.keep_ns != 0 && age_of(row) > options_.keep_ns;
    const bool too_much = options_.keep_bytes != 0 && bytes > options_.keep_bytes;
    if (!too_old && !too_much && !row.given_up()) break;
    out.push_back(row);
    bytes -= std::min(bytes, row.bytes);
  }
  return out;
}

std::vector<SegmentRow> StoreWriter::due_for_summary() const {
  auto rows = catalogue_.segments();
  if (!rows || !options_.summaries) return {};
  std::vector<SegmentRow> out = due(*rows);
  std::erase_if(out, [this](const SegmentRow& row) { return row.number <= summed_up_to_; });
  return out;
}

void StoreWriter::summed_up(std::uint64_t last) {
  summed_up_to_ = std::max(summed_up_to_, last);
  apply_retention();
}

bool StoreWriter::give_up_oldest() {
  const std::vector<SegmentRow> rows = due_for_summary();
  const auto oldest = std::ranges::find_if(rows, [](const SegmentRow& row) { return !row.given_up(); });
  if (oldest == rows.end()) return false;
  // The file first: on a full disk the catalogue needs its room.
  Status removed = remove_file(oldest->number, oldest->kind);
  SegmentRow row = *oldest;
  row.bytes = 0;
  if (removed) removed = catalogue_.put_segment(row);
  complain(removed);
  if (!removed) return false;
  ++given_up_.segments;
  given_up_.samples += row.samples;
  tell_removed(
      fmt::format("segment {} with {} samples, which could not be summed up", row.number, row.samples));
  return true;
}

void StoreWriter::apply_retention() {
  auto rows = catalogue_.segments();
  if (!rows) return complain(rows.error());
  for (const SegmentRow& row : due(*rows)) {
    if (options_.summaries && row.number > summed_up_to_) break;
    if (auto ok = remove_segment(row.number, row.kind); !ok) return complain(ok);
    tell_removed(fmt::format("segment {} with {} samples: it was too old, or the store too large", row.number,
                             row.samples));
  }
  auto unused = catalogue_.unused_dictionaries();
  if (!unused) return complain(unused.error());
  for (std::uint64_t number : *unused) {
    const Status removed = remove_segment(number, FileKind::kDictionarySegment);
    complain(removed);
    if (removed) tell_removed(fmt::format("dictionary segment {}, which no samples use", number));
  }
  std::uint64_t oldest = wall_now();
  for (const SegmentRow& row : *rows) {
    if (row.kind == FileKind::kDataSegment) oldest = std::min(oldest, row.wall_ns);
  }
  const Status forgotten = catalogue_.forget_removed(oldest);
  if (!forgotten && forgotten.error().code != EBUSY) complain(forgotten);
}

void StoreWriter::tell_removed(const std::string& what) const {
  if (options_.on_removed && !what.empty()) options_.on_removed(what);
}

}  // namespace tailor::store
