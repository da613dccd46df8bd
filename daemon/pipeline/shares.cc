#include "daemon/pipeline/shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tailor::pipeline {

void Shares::Share::swap(Share& other) noexcept {
  std::swap(shares_, other.shares_);
  std::swap(uid_, other.uid_);
  std::swap(use_, other.use_);
}

std::size_t Shares::Share::regions_left() const {
  if (shares_ == nullptr) return SIZE_MAX;
  const std::size_t part = shares_->limits_.user_regions / shares_->users_.at(uid_).processes;
  return part - std::min(part, use_.regions);
}

void Shares::join(std::uint32_t uid) {
  ++users_[uid].processes;
  ++processes_;
}

void Shares::leave(std::uint32_t uid, const Use& use) {
  change(uid, use, {});
  const auto user = users_.find(uid);
  if (--user->second.processes == 0) users_.erase(user);
  --processes_;
}

void Shares::change(std::uint32_t uid, const Use& from, const Use& to) {
  users_.at(uid).bytes += to.bytes - from.bytes;
  bytes_ += to.bytes - from.bytes;
}

bool Shares::has_memory(const User& user, std::size_t has, std::size_t more) const {
  const std::size_t total = limits_.total_bytes;
  if (bytes_ + more > total || user.bytes + more > total / 8 * 7) return false;
  const std::size_t own = std::min(total / 8 / user.processes, total / 4 / processes_);
  if (has + more <= own) return true;
  if (has + more > limits_.bytes) return false;
  const std::size_t pool = total / 4 * 3;
  const std::size_t free = pool - std::min(pool, bytes_);
  const std::size_t of_user = free - std::min(free, user.bytes);
  return has + more <= of_user;
}

bool Shares::may_take(std::uint32_t uid, const Use& has, const Use& more, LimitReached& why) const {
  const User& user = users_.at(uid);
  const auto beyond = [&](const char* key, std::size_t quota, std::size_t mine, std::size_t wanted,
                          const char* what) {
    const std::size_t part = quota / user.processes;
    if (wanted == 0 || mine + wanted <= part) return false;
    why = {key,
           fmt::format(
               "{} {} are kept for this process, and {} more would be above its part of what user {} may "
               "have ({}: {}, {} processes)",
               mine, what, wanted, uid, key, quota, user.processes)};
    return true;
  };
  if (beyond("user-plans", limits_.user_plans, has.plans, more.plans, "plans")) return false;
  if (beyond("user-code", limits_.user_code_bytes, has.code_bytes, more.code_bytes, "bytes of code"))
    return false;
  if (more.bytes == 0 || has_memory(user, has.bytes, more.bytes)) return true;
  why = {"max-memory",
         fmt::format("{} bytes are kept for this process, and {} more would be above its fair share of "
                     "{} (max-memory)",
                     has.bytes, more.bytes, limits_.total_bytes)};
  return false;
}

}  // namespace tailor::pipeline
