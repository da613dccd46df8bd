#include "daemon/store/store_retention.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <set>
#include <utility>

#include "daemon/store/store_directory.h"
#include "proto/base/errors.h"

namespace tailor::store {

void StoreRetention::set(std::uint64_t keep_bytes, std::uint64_t keep_ns) {
  options_.keep_bytes = keep_bytes;
  options_.keep_ns = keep_ns;
}

namespace {

// Moves the first sealed data segments to `taken`, as long as they go, and copies the others to `left`. Those
// without a file go with them.
template <typename Goes>
void take_oldest(const std::vector<SegmentRow>& rows, std::vector<SegmentRow>& taken,
                 std::vector<SegmentRow>& left, const Goes& goes) {
  bool go_on = true;
  for (const SegmentRow& row : rows) {
    const bool sealed_data = row.kind == FileKind::kDataSegment && row.sealed;
    if (sealed_data) go_on = go_on && (goes(row) || row.given_up());
    (sealed_data && go_on ? taken : left).push_back(row);
  }
}

}  // namespace

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

Result<std::vector<UserCut>> StoreRetention::cuts_due(const Catalogue& catalogue,
                                                      const std::vector<SegmentRow>& rows,
                                                      const StoreTime& now) const {
  std::uint64_t bytes = 0;
  for (const SegmentRow& row : rows) bytes += row.bytes;
  if (!options_.disk_shares || options_.keep_bytes == 0 || bytes <= options_.keep_bytes)
    return std::vector<UserCut>();
  auto parts = catalogue.parts();
  if (!parts) return parts.error();
  // What failed may work later: a full disk does not stay so.
  constexpr std::uint64_t kAgainNs = 3'600'000'000'000;
  std::erase_if(*parts, [&](const SegmentPart& part) {
    const auto tried = uncut_.find(part.segment);
    return tried != uncut_.end() && now.wall_ns - tried->second < kAgainNs;
  });
  return cuts_of(rows, *parts, options_.keep_bytes);
}

// What is too old goes first. If that is not enough, whatever is beyond a share does, and then the oldest.
Result<StoreRetention::Due> StoreRetention::due(const Catalogue& catalogue,
                                                const std::vector<SegmentRow>& rows,
                                                const StoreTime& now) const {
  Due out;
  std::vector<SegmentRow> left;
  const auto is_too_old = [&](const SegmentRow& row) {
    return options_.keep_ns != 0 && age_of(row, now) > options_.keep_ns;
  };
  take_oldest(rows, out.whole, left, is_too_old);
  auto cuts = cuts_due(catalogue, left, now);
  if (!cuts) return cuts.error();
  std::map<std::uint64_t, std::uint64_t> cut_bytes;
  std::set<std::uint64_t> gone;
  for (const UserCut& cut : *cuts) {
    cut_bytes[cut.row.number] += cut.bytes;
    if (cut.whole) gone.insert(cut.row.number);
  }
  const auto uncut_of = [&cut_bytes](const SegmentRow& row) {
    const auto cut = cut_bytes.find(row.number);
    return cut == cut_bytes.end() ? row.bytes : row.bytes - std::min(row.bytes, cut->second);
  };
  std::erase_if(left, [&gone](const SegmentRow& row) { return gone.contains(row.number); });
  std::uint64_t bytes = 0;
  for (const SegmentRow& row : left) bytes += uncut_of(row);
  std::vector<SegmentRow> stay;
  take_oldest(left, out.whole, stay, [&](const SegmentRow& row) {
    const bool is_too_much = options_.keep_bytes != 0 && bytes > options_.keep_bytes;
    if (!is_too_much && !is_too_old(row)) return false;
    bytes -= std::min(bytes, uncut_of(row));
    return true;
  });
  // Of what goes as a whole nothing needs to be cut.
  for (const SegmentRow& row : out.whole) gone.insert(row.number);
  for (const UserCut& cut : *cuts) {
    if (cut.whole || !gone.contains(cut.row.number)) out.cuts.push_back(cut);
  }
  return out;
}

Status StoreRetention::remove_whole(Catalogue& catalogue, const std::vector<SegmentRow>& rows) {
  for (const SegmentRow& row : rows) {
    if (waits_for_summary(row)) continue;
    if (auto ok = remove_segment(catalogue, row.number, row.kind); !ok) return ok;
    removed_.push_back(fmt::format("segment {} with {} samples: it was too old, or the store too large",
                                   row.number, row.samples));
  }
  return Ok{};
}

bool StoreRetention::waits_for_summary(const Due& gone) const {
  return std::ranges::any_of(gone.whole, [this](const SegmentRow& row) { return waits_for_summary(row); }) ||
         std::ranges::any_of(gone.cuts, [this](const UserCut& cut) { return waits_for_summary(cut.row); });
}

// Sums need dictionaries, which are not cut before all that is due is summed up.
Status StoreRetention::choose_cut(const Catalogue& catalogue, const Due& gone) {
  has_more_ = false;
  chosen_.reset();
  if (gone.cuts.empty()) return Ok{};
  const auto rows = catalogue.segments();
  if (!rows) return rows.error();
  const bool some_wait = waits_for_summary(gone);
  for (const UserCut& cut : gone.cuts) {
    const bool waits = cut.row.kind == FileKind::kDataSegment ? waits_for_summary(cut.row) : some_wait;
    const auto row = std::ranges::find(*rows, cut.row.number, &SegmentRow::number);
    if (waits || row == rows->end()) continue;
    auto processes = catalogue.processes_in(row->number, cut.uid);
    if (!processes) return processes.error();
    chosen_ = ChosenCut{*row, cut.uid, cut.whole, std::move(*processes), false};
    has_more_ = true;
    break;
  }
  return Ok{};
}

Result<RewrittenSegment> StoreRetention::write_anew(const ChosenCut& cut, const MayGoOn& may_go_on) const {
  if (cut.whole) return RewrittenSegment{};
  return write_without(directory_, cut.row, cut.processes, *options_.files, may_go_on);
}

// The segment may have gone meanwhile.
Result<bool> StoreRetention::is_as_chosen(const Catalogue& catalogue, const ChosenCut& cut) const {
  const auto rows = catalogue.segments();
  if (!rows) return rows.error();
  const auto row = std::ranges::find(*rows, cut.row.number, &SegmentRow::number);
  return row != rows->end() && row->sealed && row->bytes == cut.row.bytes && row->samples == cut.row.samples;
}

Result<bool> StoreRetention::enter_cut(Catalogue& catalogue, const ChosenCut& cut,
                                       const Result<RewrittenSegment>& written, const StoreTime& now) {
  if (!written) {
    if (written.error().kind == ErrorKind::kUnavailable) return false;
    uncut_[cut.row.number] = now.wall_ns;
    removed_.push_back(fmt::format("nothing of user {} from segment {}: {}", cut.uid, cut.row.number,
                                   written.error().message));
    return false;
  }
  auto as_chosen = is_as_chosen(catalogue, cut);
  if (!as_chosen || !*as_chosen) {
    if (!cut.whole) drop_rewritten(directory_, cut.row, *options_.files);
    return as_chosen;
  }
  if (cut.unsummed && cut.whole) return give_up_cut(catalogue, cut, now);
  SegmentRow row = cut.row;
  row.bytes = written->bytes;
  // What was not summed up still counts as unwritten, and so it does if the file goes as a whole later.
  if (!cut.unsummed) row.samples = written->samples;
  if (!cut.whole) {
    if (auto ok = replace_with_rewritten(directory_, row, *options_.files); !ok) {
      uncut_[row.number] = now.wall_ns;
      return ok.error();
    }
  }
  const std::uint64_t samples = cut.whole ? cut.row.samples : written->removed_samples;
  const std::uint64_t bytes = cut.row.bytes - std::min(cut.row.bytes, row.bytes);
  Status entered = catalogue.begin();
  if (entered)
    entered = cut.whole ? catalogue.drop_segment(row.number) : catalogue.put_cut(row, cut.processes);
  if (entered) entered = catalogue.note_cut({cut.uid, bytes, samples, now.wall_ns, now.wall_ns});
  if (entered) entered = catalogue.commit();
  if (!entered) {
    catalogue.rollback();
    return entered.error();
  }
  tell_cut(cut, samples, bytes);
  if (cut.unsummed) {
    given_up_.samples += samples;
    cut_unsummed_[row.number] += samples;
  }
  if (!cut.whole) return true;
  if (auto ok = remove_file(row.number, row.kind); !ok) return ok.error();
  return true;
}

void StoreRetention::tell_cut(const ChosenCut& cut, std::uint64_t samples, std::uint64_t bytes) {
  removed_.push_back(fmt::format(
      "{} samples, {} bytes, of user {} from segment {}: the store is too large, and that user "
      "has more than a share of it{}",
      samples, bytes, cut.uid, cut.row.number, cut.unsummed ? "; they could not be summed up" : ""));
}

Status StoreRetention::apply(Catalogue& catalogue, const StoreTime& now) {
  auto rows = catalogue.segments();
  if (!rows) return rows.error();
  const auto gone = due(catalogue, *rows, now);
  if (!gone) return gone.error();
  if (auto ok = remove_whole(catalogue, gone->whole); !ok) return ok;
  Status dictionaries = remove_unused_dictionaries(catalogue, *rows);
  const Status chosen = choose_cut(catalogue, *gone);
  if (!chosen) has_more_ = true;
  if (dictionaries && !chosen && chosen.error().code != EBUSY) dictionaries = chosen;
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
  const auto gone = due(catalogue, *rows, now);
  if (!gone) return gone.error();
  std::uint64_t last = 0;
  for (const SegmentRow& row : gone->whole) last = std::max(last, row.number);
  for (const UserCut& cut : gone->cuts) {
    if (cut.row.kind == FileKind::kDataSegment) last = std::max(last, cut.row.number);
  }
  // Sums end at a number, so those before it are summed up too.
  std::erase_if(*rows, [&](const SegmentRow& row) {
    return row.kind != FileKind::kDataSegment || !row.sealed || row.number <= summed_up_to_ ||
           row.number > last;
  });
  return rows;
}

void StoreRetention::summed_up(std::uint64_t last) {
  summed_up_to_ = std::max(summed_up_to_, last);
  cut_unsummed_.erase(cut_unsummed_.begin(), cut_unsummed_.upper_bound(summed_up_to_));
}

Result<std::optional<ChosenCut>> StoreRetention::choose_unsummed(const Catalogue& catalogue,
                                                                 const StoreTime& now) const {
  std::optional<ChosenCut> out;
  if (!options_.summaries) return out;
  const auto rows = catalogue.segments();
  if (!rows) return rows.error();
  const auto gone = due(catalogue, *rows, now);
  if (!gone) return gone.error();
  const auto cut = std::ranges::find_if(gone->cuts, [this](const UserCut& each) {
    return waits_for_summary(each.row) && !each.row.given_up();
  });
  if (cut == gone->cuts.end()) return out;
  auto processes = catalogue.processes_in(cut->row.number, cut->uid);
  if (!processes) return processes.error();
  // The row of a cut is as the cuts before it leave it.
  const auto row = std::ranges::find(*rows, cut->row.number, &SegmentRow::number);
  out = ChosenCut{*row, cut->uid, cut->whole, std::move(*processes), true};
  return out;
}

Result<std::uint64_t> StoreRetention::give_up(Catalogue& catalogue, SegmentRow row) {
  // The file first: on a full disk the catalogue needs its room.
  Status removed = remove_file(row.number, row.kind);
  row.bytes = 0;
  if (removed) removed = catalogue.put_segment(row);
  if (!removed) return removed.error();
  const auto cut = cut_unsummed_.extract(row.number);
  const std::uint64_t samples = row.samples - (cut.empty() ? 0 : std::min(row.samples, cut.mapped()));
  ++given_up_.segments;
  given_up_.samples += samples;
  return samples;
}

// A segment of this user alone.
Result<bool> StoreRetention::give_up_cut(Catalogue& catalogue, const ChosenCut& cut, const StoreTime& now) {
  const auto samples = give_up(catalogue, cut.row);
  if (!samples) return samples.error();
  tell_cut(cut, *samples, cut.row.bytes);
  const Status noted = catalogue.note_cut({cut.uid, cut.row.bytes, *samples, now.wall_ns, now.wall_ns});
  if (!noted) return noted.error();
  return true;
}

Result<bool> StoreRetention::give_up_oldest(Catalogue& catalogue, const StoreTime& now) {
  const auto rows = due_for_summary(catalogue, now);
  if (!rows) return rows.error();
  const auto oldest = std::ranges::find_if(*rows, [](const SegmentRow& row) { return !row.given_up(); });
  if (oldest == rows->end()) return false;
  const auto samples = give_up(catalogue, *oldest);
  if (!samples) return samples.error();
  removed_.push_back(
      fmt::format("segment {} with {} samples, which could not be summed up", oldest->number, *samples));
  return true;
}

}  // namespace tailor::store
