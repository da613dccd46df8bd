#include "daemon/serve/shares.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

namespace tailor::serve {

Asker asker_of_user(std::uint32_t uid) {
  return {fmt::format("user {}", uid), uid == 0 || uid == ::geteuid()};
}

void RefusalCounts::count(const std::string& who) {
  const bool is_new = !counts_.contains(who);
  ++counts_[is_new && counts_.size() >= kMostNames ? kOthers : who];
}

std::size_t Shares::of_one() const {
  return std::max<std::size_t>(1, all_ / 2);
}

std::size_t Shares::of_strangers() const {
  // With one in all, nothing can be kept.
  return all_ > 1 ? all_ - std::max<std::size_t>(1, all_ / 4) : all_;
}

bool Shares::fits_locked(const Asker& asker) const {
  if (taken_ >= all_) return false;
  if (asker.trusted) return true;
  const auto own = by_asker_.find(asker.who);
  return taken_by_strangers_ < of_strangers() && (own == by_asker_.end() || own->second < of_one());
}

bool Shares::fits(const Asker& asker) const {
  const std::lock_guard lock(mutex_);
  return fits_locked(asker);
}

bool Shares::take(const Asker& asker) {
  const std::lock_guard lock(mutex_);
  if (!fits_locked(asker)) {
    refused_.count(asker.who);
    return false;
  }
  ++taken_;
  if (!asker.trusted) ++taken_by_strangers_;
  ++by_asker_[asker.who];
  return true;
}

void Shares::give_back(const Asker& asker) {
  const std::lock_guard lock(mutex_);
  const auto own = by_asker_.find(asker.who);
  if (own == by_asker_.end()) return;
  if (--own->second == 0) by_asker_.erase(own);
  --taken_;
  if (!asker.trusted) --taken_by_strangers_;
}

std::map<std::string, std::size_t> Shares::taken() const {
  const std::lock_guard lock(mutex_);
  return by_asker_;
}

std::map<std::string, std::uint64_t> Shares::refused() const {
  const std::lock_guard lock(mutex_);
  return refused_.all();
}

}  // namespace tailor::serve
