#include "daemon/session/step_clock.h"

#include <algorithm>
#include <utility>

namespace tailor::session {
namespace {

// Nobody asks of a shorter one how much of it the thread was in the run queue.
constexpr TimeNs kLongStep = 10'000'000;

}  // namespace

void LongestOfMinute::add(TimeNs end, TimeNs took) {
  const TimeNs number = end / kSecondNs;
  Second& second = seconds_[static_cast<std::size_t>(number % kSeconds)];
  if (second.number != number) second = {number, 0};
  second.longest = std::max(second.longest, took);
}

TimeNs LongestOfMinute::get(TimeNs now) const {
  TimeNs longest = 0;
  for (const Second& each : seconds_) {
    if (each.number > now / kSecondNs - kSeconds) longest = std::max(longest, each.longest);
  }
  return longest;
}

void StepClock::begin() {
  if (!queue_) queue_ = os::QueueTime::of_this_thread(os_.proc());
  queued_ = queue_->ns();
  began_ = os_.now();
}

void StepClock::end() {
  const std::optional<TimeNs> began = std::exchange(began_, std::nullopt);
  if (!began) return;
  const TimeNs now = os_.now();
  TimeNs took = now - *began;
  if (took > kLongStep) took -= std::min(took, static_cast<TimeNs>(queue_->ns() - queued_));
  longest_.add(now, took);
  if (took > kTooLong) ++too_long_;
}

}  // namespace tailor::session
