// What of a store is removed, and when.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/disk_shares.h"
#include "daemon/store/segment_rewriter.h"
#include "daemon/store/store_options.h"
#include "proto/base/result.h"

namespace tailor::store {

// A moment of the writer: by the clock of its recording, and CLOCK_REALTIME.
struct StoreTime {
  TimeNs watermark = kTimeMin;
  std::uint64_t wall_ns = 0;
};

// What was deleted without being summed up, since the store was opened: segments as a whole, and samples of
// these and of others.
struct GivenUp {
  std::uint64_t segments = 0, samples = 0;
};

// What of a segment goes next: all that these processes of the user have there.
struct ChosenCut {
  SegmentRow row;
  std::uint32_t uid = 0;
  bool whole = false;  // the file goes
  std::set<ProcessId> processes;
  bool unsummed = false;  // no sums were made of it
};

// One thread at a time, where nothing else is said. The catalogue is that of the directory.
class StoreRetention {
 public:
  StoreRetention(std::string directory, const StoreOptions& options, RecordingNumber recording,
                 std::uint64_t summed_up_to)
      : directory_(std::move(directory)),
        options_(options),
        recording_(recording),
        summed_up_to_(summed_up_to) {}

  // As in StoreOptions.
  void set(std::uint64_t keep_bytes, std::uint64_t keep_ns);
  // Removes the segments that are due, and chooses a cut of what is beyond a user's share.
  Status apply(Catalogue& catalogue, const StoreTime& now);
  // apply() has left something for the next time.
  bool has_more() const { return has_more_; }
  // What it chose, once.
  std::optional<ChosenCut> take_cut() { return std::exchange(chosen_, std::nullopt); }
  // Writes the segment anew, which takes seconds: beside the work of another thread, and without the
  // catalogue.
  Result<RewrittenSegment> write_anew(const ChosenCut& cut, const MayGoOn& may_go_on) const;
  // Puts the new segment in the place of the old one, unless the old one has changed meanwhile. Where
  // `written` is Unavailable, nothing changes. Whether something went.
  Result<bool> enter_cut(Catalogue& catalogue, const ChosenCut& cut, const Result<RewrittenSegment>& written,
                         const StoreTime& now);
  // The dictionary segment was sealed while `data` was being written. It stays until that is sealed too: what
  // names its contents may be on its way.
  void sealed(std::uint64_t dictionary, std::uint64_t data) { sealed_while_[dictionary] = data; }
  // Removes executions without samples that are too old. Those with samples go with their segments.
  Status drop_old_executions(Catalogue& catalogue, const StoreTime& now) const;

  // Data segments that would be removed, or lose something, if they were summed up, and all before them that
  // are not; the oldest first.
  Result<std::vector<SegmentRow>> due_for_summary(const Catalogue& catalogue, const StoreTime& now) const;
  void summed_up(std::uint64_t last);
  // Where no sums can be made, this goes first of what waits for them: what the user with most has beyond a
  // share in the oldest of these segments. The next sums count its samples as unwritten. None: no user has
  // more than a share.
  Result<std::optional<ChosenCut>> choose_unsummed(const Catalogue& catalogue, const StoreTime& now) const;
  // Then whole segments, whatever users filled them: deletes the file of the oldest. Its row stays, without
  // bytes, so that the next sums count its samples as unwritten. Whether there was one.
  Result<bool> give_up_oldest(Catalogue& catalogue, const StoreTime& now);
  const GivenUp& given_up() const { return given_up_; }

  // What was removed since the last call, for the log.
  std::vector<std::string> take_removed() { return std::exchange(removed_, {}); }

 private:
  Status remove_segment(Catalogue& catalogue, std::uint64_t number, FileKind kind) const;
  Status remove_file(std::uint64_t number, FileKind kind) const;
  Status remove_unused_dictionaries(Catalogue& catalogue, const std::vector<SegmentRow>& rows);
  // Since it began.
  std::uint64_t age_of(const SegmentRow& row, const StoreTime& now) const;
  // What is too old, or too much, by number; and what of segments is beyond the share of its user.
  struct Due {
    std::vector<SegmentRow> whole;
    std::vector<UserCut> cuts;
  };
  Result<Due> due(const Catalogue& catalogue, const std::vector<SegmentRow>& rows,
                  const StoreTime& now) const;
  Result<std::vector<UserCut>> cuts_due(const Catalogue& catalogue, const std::vector<SegmentRow>& rows,
                                        const StoreTime& now) const;
  bool waits_for_summary(const SegmentRow& row) const {
    return row.kind == FileKind::kDataSegment && options_.summaries && row.number > summed_up_to_;
  }
  bool waits_for_summary(const Due& gone) const;
  Status remove_whole(Catalogue& catalogue, const std::vector<SegmentRow>& rows);
  Status choose_cut(const Catalogue& catalogue, const Due& gone);
  void tell_cut(const ChosenCut& cut, std::uint64_t samples, std::uint64_t bytes);
  // Deletes the file, and leaves the row. The samples that went.
  Result<std::uint64_t> give_up(Catalogue& catalogue, SegmentRow row);
  Result<bool> give_up_cut(Catalogue& catalogue, const ChosenCut& cut, const StoreTime& now);
  Result<bool> is_as_chosen(const Catalogue& catalogue, const ChosenCut& cut) const;

  const std::string directory_;
  StoreOptions options_;
  const RecordingNumber recording_;
  std::uint64_t summed_up_to_;  // the number of a data segment
  GivenUp given_up_;
  std::map<std::uint64_t, std::uint64_t> sealed_while_;  // dictionary segments that are there
  // Segments that could not be written anew, and when that was tried last: CLOCK_REALTIME.
  std::map<std::uint64_t, std::uint64_t> uncut_;
  // What was cut out of segments that are not summed up, in samples; their rows have these still.
  std::map<std::uint64_t, std::uint64_t> cut_unsummed_;
  std::optional<ChosenCut> chosen_;
  bool has_more_ = false;
  std::vector<std::string> removed_;
};

}  // namespace tailor::store
