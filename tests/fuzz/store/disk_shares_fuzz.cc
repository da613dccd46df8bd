// Segments of a store that has become too large, and what users have in them: only what a user has beyond a
// share is cut, each part once, as long as the store is too large. Nothing is cut of root, of the daemon's
// own user and of users who are not known. Two bytes are what the store may keep, and each eight after them
// are a segment or a part.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/store/disk_shares.h"

namespace {

using tailor::store::FileKind;
using tailor::store::SegmentPart;
using tailor::store::SegmentRow;
using tailor::store::UserCut;
using User = std::optional<std::uint32_t>;

constexpr std::uint64_t kSegments = 32;

void check(bool holds) {
  if (!holds) std::abort();
}

bool is_spared(User uid) {
  return !uid || *uid == 0 || *uid == ::geteuid();
}

User user_of(std::uint8_t number) {
  const std::array<User, 8> users = {std::nullopt, 0, ::geteuid(), 40'001, 40'002, 40'003, 40'004, 40'005};
  return users[number % users.size()];
}

class CutStore {
 public:
  CutStore(const std::uint8_t* data, std::size_t size) {
    keep_ = std::uint64_t{data[0]} << (data[1] % 40);
    std::map<std::uint64_t, SegmentRow> rows;
    for (data += 2, size -= 2; size >= 8; data += 8, size -= 8) take(data, rows);
    for (const auto& [number, row] : rows) rows_.push_back(row);
    for (const SegmentRow& row : rows_) {
      left_[row.number] = row.bytes;
      total_ += row.bytes;
    }
    for (const SegmentPart& part : parts_) {
      if (!left_.contains(part.segment)) continue;
      of_[{part.segment, part.uid}] += part.bytes;
      users_[part.uid] += part.bytes;
    }
    first_ = of_;
  }

  void look() {
    const std::vector<UserCut> cuts = tailor::store::cuts_of(rows_, parts_, keep_);
    check(users_.size() >= 2 || cuts.empty());
    const UserCut* before = nullptr;
    for (const UserCut& cut : cuts) {
      if (before != nullptr && before->uid == cut.uid) check(is_older(before->row, cut.row));
      take(cut);
      before = &cut;
    }
    if (users_.size() >= 2 && total_ > keep_) check_rest();
  }

 private:
  void take(const std::uint8_t* data, std::map<std::uint64_t, SegmentRow>& rows) {
    const std::uint64_t bytes = (std::uint64_t{data[3]} << 16 | data[4] << 8 | data[5]) << (data[6] % 16);
    const std::uint64_t number = 1 + data[1] % kSegments;
    if (data[0] % 2 == 1) return parts_.push_back({number, user_of(data[2]), bytes});
    SegmentRow row;
    row.number = number;
    row.kind = data[0] % 4 == 0 ? FileKind::kDataSegment : FileKind::kDictionarySegment;
    row.bytes = bytes;
    row.sealed = data[2] % 4 != 0;
    rows[number] = row;
  }

  // Data first, and the oldest of each kind.
  static bool is_older(const SegmentRow& a, const SegmentRow& b) {
    const auto rank = [](const SegmentRow& row) {
      return std::pair(row.kind != FileKind::kDataSegment, row.number);
    };
    return rank(a) < rank(b);
  }

  bool is_beyond(User uid) const { return users_.at(uid) > tailor::store::disk_share(keep_); }

  void take(const UserCut& cut) {
    const User uid = cut.uid;
    const auto part = of_.find({cut.row.number, uid});
    check(part != of_.end() && !is_spared(uid) && cut.row.sealed);
    check(total_ > keep_ && is_beyond(uid));
    check(cut.row.bytes == left_.at(cut.row.number) && cut.bytes <= cut.row.bytes);
    const bool alone = std::ranges::none_of(of_, [&](const auto& each) {
      return each.first.first == cut.row.number && each.first.second != uid;
    });
    check(cut.whole == (alone && cut.row.kind == FileKind::kDataSegment));
    check(cut.bytes == (cut.whole ? cut.row.bytes : std::min(part->second, cut.row.bytes)));
    left_.at(cut.row.number) -= cut.bytes;
    total_ -= cut.bytes;
    users_.at(uid) -= part->second;
    of_.erase(part);
  }

  // A user who still has more than a share has nothing left that was worth a cut.
  void check_rest() const {
    for (const SegmentRow& row : rows_) {
      for (const auto& [uid, bytes] : users_) {
        if (is_spared(uid) || !is_beyond(uid) || !row.sealed) continue;
        const auto part = of_.find({row.number, uid});
        check(part == of_.end() || first_.at({row.number, uid}) < row.bytes / 16);
      }
    }
  }

  std::uint64_t keep_ = 0, total_ = 0;
  std::vector<SegmentRow> rows_;
  std::vector<SegmentPart> parts_;
  std::map<std::uint64_t, std::uint64_t> left_;  // bytes of segments
  std::map<std::pair<std::uint64_t, User>, std::uint64_t> of_, first_;
  std::map<User, std::uint64_t> users_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size >= 2) CutStore(data, size).look();
  return 0;
}
