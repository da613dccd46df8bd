#include "daemon/registration/user_counts.h"

namespace tailor::registration {

bool UserCounts::take(std::uint32_t uid, std::size_t count) {
  std::lock_guard lock(mutex_);
  const auto user = users_.try_emplace(uid, 0).first;
  const bool fits = user->second <= most_ && count <= most_ - user->second;
  if (fits) user->second += count;
  if (user->second == 0) users_.erase(user);
  return fits;
}

void UserCounts::give_back(std::uint32_t uid, std::size_t count) {
  std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  if (user == users_.end()) return;
  user->second = count < user->second ? user->second - count : 0;
  if (user->second == 0) users_.erase(user);
}

UserCounts::Taken UserCounts::hold(std::uint32_t uid, std::size_t count) {
  if (!take(uid, count)) return nullptr;
  return {this, [self = shared_from_this(), uid, count](const void*) { self->give_back(uid, count); }};
}

std::size_t UserCounts::taken(std::uint32_t uid) const {
  std::lock_guard lock(mutex_);
  const auto user = users_.find(uid);
  return user == users_.end() ? 0 : user->second;
}

std::map<std::uint32_t, std::size_t> UserCounts::all() const {
  std::lock_guard lock(mutex_);
  return users_;
}

}  // namespace tailor::registration
