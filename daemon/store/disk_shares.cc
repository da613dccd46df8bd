#include "daemon/store/disk_shares.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

namespace tailor::store {
namespace {

// To write a segment anew costs time, so it must be worth that.
constexpr std::uint64_t kLeastPart = 16;  // less than one part in 16 of a segment stays

struct DividedSegment {
  SegmentRow row;
  std::map<std::optional<std::uint32_t>, std::uint64_t> users;

  bool has_others(std::uint32_t uid) const {
    return std::ranges::any_of(users, [uid](const auto& user) { return user.first != uid; });
  }
};

class Cutter {
 public:
  Cutter(const std::vector<SegmentRow>& rows, const std::vector<SegmentPart>& parts, std::uint64_t keep_bytes)
      : keep_bytes_(keep_bytes) {
    std::map<std::uint64_t, std::size_t> places;
    for (const SegmentRow& row : rows) {
      bytes_ += row.bytes;
      places[row.number] = segments_.size();
      segments_.push_back({row, {}});
    }
    for (const SegmentPart& part : parts) {
      const auto place = places.find(part.segment);
      if (place == places.end()) continue;
      segments_[place->second].users[part.uid] += part.bytes;
      users_[part.uid] += part.bytes;
    }
    // Data segments first, each kind by number.
    (void)std::stable_partition(segments_.begin(), segments_.end(), [](const DividedSegment& each) {
      return each.row.kind == FileKind::kDataSegment;
    });
  }

  std::vector<UserCut> run() {
    if (users_.size() < 2) return {};
    for (auto user = heaviest(); user && !fits(); user = heaviest()) {
      cut(*user);
      done_.push_back(*user);
    }
    return std::move(cuts_);
  }

 private:
  bool fits() const { return bytes_ <= keep_bytes_; }
  bool is_beyond(std::uint32_t uid) const { return users_.at(uid) > disk_share(keep_bytes_); }

  // The user with most bytes of those that have more than a share and were not cut before.
  std::optional<std::uint32_t> heaviest() const {
    std::optional<std::uint32_t> out;
    for (const auto& [uid, bytes] : users_) {
      if (!uid || *uid == 0 || *uid == ::geteuid() || !is_beyond(*uid)) continue;
      if (std::ranges::find(done_, *uid) != done_.end()) continue;
      if (!out || bytes > users_.at(out)) out = uid;
    }
    return out;
  }

  void cut(std::uint32_t uid) {
    for (DividedSegment& segment : segments_) {
      if (fits() || !is_beyond(uid)) return;
      const auto part = segment.users.find(uid);
      if (!segment.row.sealed || part == segment.users.end()) continue;
      const bool is_data = segment.row.kind == FileKind::kDataSegment;
      const bool whole = is_data && !segment.has_others(uid);
      // Parts are about what they are.
      const std::uint64_t bytes = whole ? segment.row.bytes : std::min(part->second, segment.row.bytes);
      if (!whole && bytes < segment.row.bytes / kLeastPart) continue;
      cuts_.push_back({segment.row, uid, bytes, whole});
      segment.row.bytes -= bytes;
      bytes_ -= std::min(bytes_, bytes);
      users_[uid] -= std::min(users_[uid], part->second);
      segment.users.erase(part);
    }
  }

  std::uint64_t keep_bytes_;
  std::uint64_t bytes_ = 0;
  std::vector<DividedSegment> segments_;
  std::map<std::optional<std::uint32_t>, std::uint64_t> users_;
  std::vector<std::uint32_t> done_;
  std::vector<UserCut> cuts_;
};

}  // namespace

std::vector<UserCut> cuts_of(const std::vector<SegmentRow>& rows, const std::vector<SegmentPart>& parts,
                             std::uint64_t keep_bytes) {
  return Cutter(rows, parts, keep_bytes).run();
}

}  // namespace tailor::store
