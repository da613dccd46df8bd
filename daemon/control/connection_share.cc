#include "daemon/control/connection_share.h"

#include <algorithm>
#include <map>

namespace tailor::control {

std::size_t makes_room(std::span<const Connected> connected, std::uint32_t newcomer) {
  std::map<std::uint32_t, std::size_t> places;
  for (const Connected& each : connected) ++places[each.user];
  ++places[newcomer];
  const std::size_t of_owner = connected.size() / 2;
  const auto weight = [&](std::uint32_t user) {
    const std::size_t all = places.at(user);
    return user == kOwner ? all - std::min(all, of_owner) : all;
  };
  std::size_t most = weight(newcomer);
  for (const auto& [user, count] : places) most = std::max(most, weight(user));
  // Among those with equally many, the newcomer's user pays, if there is something to pay with.
  const bool own = weight(newcomer) == most && places.at(newcomer) > 1;
  const auto pays = [&](const Connected& each) {
    return own ? each.user == newcomer : weight(each.user) == most;
  };
  std::size_t goes = connected.size();
  for (std::size_t i = 0; i < connected.size(); ++i) {
    if (!pays(connected[i])) continue;
    if (!connected[i].waits) return i;
    goes = std::min(goes, i);
  }
  // Somebody pays: an owner that has all places has more than half of them.
  return goes;
}

}  // namespace tailor::control
