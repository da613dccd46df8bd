#include "daemon/serve/http/connection_shares.h"

#include <algorithm>

namespace tailor::serve {

bool ConnectionShares::has_room_for(const Guest& guest) const {
  const std::size_t quarter = std::max<std::size_t>(1, all_ / 4), half = std::max<std::size_t>(1, all_ / 2);
  if (open_.size() >= all_) return false;
  if (guest.trusted) return true;
  std::size_t strangers = 0, at_door = 0, own = 0;
  for (const auto& [descriptor, each] : open_) {
    strangers += each.trusted ? 0 : 1;
    at_door += each.door == guest.door ? 1 : 0;
    own += each.door == guest.door && each.who == guest.who ? 1 : 0;
  }
  // With one connection in all, nothing can be kept.
  if (all_ > 1 && strangers >= all_ - quarter) return false;
  if (guest.door == Door::kMetrics && at_door >= quarter) return false;
  return own < (guest.door == Door::kTcp ? half : quarter);
}

}  // namespace tailor::serve
