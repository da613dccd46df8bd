#include "daemon/tailord/usual_time.h"

#include <algorithm>

namespace tailor::tailord {

void UsualTime::add(TimeNs ended, TimeNs elapsed) {
  if (count_ < kMost) {
    last_[count_++] = {ended, elapsed};
    return;
  }
  const auto oldest = std::ranges::min_element(last_, {}, &EndedRun::ended);
  if (oldest->ended > ended) return;
  std::move(oldest + 1, last_.end(), oldest);
  last_.back() = {ended, elapsed};
}

std::optional<TimeNs> UsualTime::get(TimeNs now) const {
  std::array<TimeNs, kMost> times{};
  auto end = times.begin();
  for (std::size_t i = 0; i < count_; ++i) {
    if (last_[i].ended >= now - kFor) *end++ = last_[i].elapsed;
  }
  if (static_cast<std::size_t>(end - times.begin()) < kLeast) return std::nullopt;
  const auto middle = times.begin() + (end - times.begin()) / 2;
  std::nth_element(times.begin(), middle, end);
  return *middle;
}

}  // namespace tailor::tailord
