#include "daemon/registration/user_messages.h"

#include <algorithm>

namespace tailor::registration {

bool UserMessages::may(std::uint32_t uid, Clock::time_point now) {
  if (a_second_ == 0) return true;
  if (now - swept_ > std::chrono::seconds(1)) {
    std::erase_if(users_, [&](const auto& each) { return now - each.second.at > std::chrono::seconds(1); });
    swept_ = now;
  }
  const auto most = static_cast<double>(a_second_);
  auto [user, fresh] = users_.try_emplace(uid, User{most, now});
  const double passed = std::chrono::duration<double>(now - user->second.at).count();
  user->second.left = std::min(most, user->second.left + passed * most);
  user->second.at = now;
  return user->second.left >= 1;
}

void UserMessages::read(std::uint32_t uid, std::size_t messages) {
  const auto user = users_.find(uid);
  if (user != users_.end()) user->second.left -= static_cast<double>(messages);
}

}  // namespace tailor::registration
