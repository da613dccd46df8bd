#include "daemon/registration/user_messages.h"

#include <algorithm>

namespace tailor::registration {

void UserMessages::Budget::refill(double a_second, Clock::time_point now) {
  left = std::min(a_second, left + std::chrono::duration<double>(now - at).count() * a_second);
  at = now;
}

void UserMessages::sweep(Clock::time_point now) {
  const auto is_old = [&](const Budget& budget) { return now - budget.at > std::chrono::seconds(1); };
  std::erase_if(users_, [&](const auto& user) { return is_old(user.second.all); });
  for (auto& [uid, user] : users_) {
    std::erase_if(user.processes, [&](const auto& process) { return is_old(process.second); });
  }
  swept_ = now;
}

bool UserMessages::may(std::uint32_t uid, std::uint64_t process, Clock::time_point now) {
  if (a_second_ == 0) return true;
  if (now - swept_ > std::chrono::seconds(1)) sweep(now);
  const auto most = static_cast<double>(a_second_);
  User& user = users_.try_emplace(uid, User{{most, now}, {}}).first->second;
  const auto [own, fresh] = user.processes.try_emplace(process, Budget{0, now});
  const double part = most / static_cast<double>(user.processes.size());
  if (fresh) own->second.left = part;
  user.all.refill(most, now);
  own->second.refill(part, now);
  return user.all.left >= 1 || own->second.left >= 1;
}

// Of an even part also the user's budget pays. So it can fall below zero, and who sends more than a part
// waits longer.
void UserMessages::read(std::uint32_t uid, std::uint64_t process, std::size_t messages) {
  const auto user = users_.find(uid);
  if (user == users_.end()) return;
  const auto count = static_cast<double>(messages);
  user->second.all.left -= count;
  const auto own = user->second.processes.find(process);
  if (own != user->second.processes.end()) own->second.left = std::max(0.0, own->second.left - count);
}

}  // namespace tailor::registration
