#include "daemon/session/names_budget.h"

namespace tailor::session {

bool NamesBudget::may_write(std::uint32_t user, std::uint64_t bytes) const {
  const auto known = users_.find(user);
  const std::uint64_t has = known == users_.end() ? 0 : known->second;
  const std::uint64_t free = most_ - std::min(most_, used_);
  return bytes <= free && has <= free - bytes && bytes <= free - bytes - has;
}

void NamesBudget::wrote(std::uint64_t segment, std::uint32_t user, std::uint64_t bytes) {
  segments_[segment][user] += bytes;
  users_[user] += bytes;
  used_ += bytes;
}

void NamesBudget::forget_before(std::uint64_t segment) {
  while (!segments_.empty() && segments_.begin()->first < segment) {
    for (const auto& [user, bytes] : segments_.begin()->second) {
      used_ -= bytes;
      const auto known = users_.find(user);
      known->second -= bytes;
      if (known->second == 0) users_.erase(known);
    }
    segments_.erase(segments_.begin());
  }
}

}  // namespace tailor::session
