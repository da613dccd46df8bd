// Whose data go first where a store has become too large. Segments go by age alone, so one user who writes
// much would cost all others their history. So a user has a share: half of what the store may keep. What a
// user has beyond it is cut out of the segments. The rest of the segments stays.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/store/catalogue.h"

namespace tailor::store {

inline constexpr std::uint64_t disk_share(std::uint64_t keep_bytes) {
  return keep_bytes / 2;
}

// What of a segment goes: all that the user's processes have there.
struct UserCut {
  SegmentRow row;
  std::uint32_t uid = 0;
  std::uint64_t bytes = 0;  // about
  // Nobody else has anything in the segment, so the file goes as a whole.
  bool whole = false;
};

// Of the segments in `rows`, by number, which have more than `keep_bytes` together; until they do not, or no
// user has more than a share. Data segments come first, the oldest first: dictionaries name what is in newer
// ones. Nothing of root and of the daemon's own user is cut, nor of users who are not known; nothing at all
// where one user alone has something: then the oldest segments go.
std::vector<UserCut> cuts_of(const std::vector<SegmentRow>& rows, const std::vector<SegmentPart>& parts,
                             std::uint64_t keep_bytes);

}  // namespace tailor::store
