#include "daemon/unwind/patience.h"

#include <algorithm>
#include <utility>

namespace tailor::unwind {

void Patience::begin_step(TimeNs arrived) {
  arrived_ = arrived;
  here_left_ = limits_.of_a_step;
  const std::optional<std::uint32_t> waited_for = std::exchange(waits_for_, std::nullopt);
  if (!waited_for) return;
  const TimeNs now = os_.now();
  if (User* whose = user(*waited_for, now)) whose->left -= now - since_;
}

Patience::Answer Patience::ask(const Progress& missing) {
  const TimeNs began = os_.now();
  User* whose = user(missing.user(), began);
  if (whose == nullptr || whose->left <= 0 || began - arrived_ >= limits_.of_a_message)
    return Answer::kNoLonger;
  const TimeNs here = std::min(limits_.here, here_left_);
  const bool done = here > 0 ? missing.wait(here) : missing.is_done();
  since_ = os_.now();
  here_left_ -= since_ - began;
  whose->left -= since_ - began;
  if (done) return Answer::kIsThere;
  waits_for_ = missing.user();
  return Answer::kLater;
}

// NULL: there are too many.
Patience::User* Patience::user(std::uint32_t number, TimeNs now) {
  if (users_.size() >= kMostUsers && !users_.contains(number)) {
    const TimeNs whole = limits_.of_a_user * limits_.regained_in;
    std::erase_if(users_, [&](const auto& each) { return now - each.second.as_of >= whole; });
    if (users_.size() >= kMostUsers) return nullptr;
  }
  User& found = users_.try_emplace(number, User{limits_.of_a_user, now}).first->second;
  const TimeNs regained = (now - found.as_of) / limits_.regained_in;
  found.as_of += regained * limits_.regained_in;
  found.left = std::min(found.left + regained, limits_.of_a_user);
  return &found;
}

}  // namespace tailor::unwind
