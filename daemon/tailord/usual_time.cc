#include "daemon/tailord/usual_time.h"

#include <algorithm>

namespace tailor::tailord {

std::optional<TimeNs> UsualTime::get(TimeNs now) const {
  std::array<TimeNs, kMost> times{};
  auto end = times.begin();
  for (std::size_t i = 0; i < std::min(count_, kMost); ++i) {
    if (last_[i].ended >= now - kFor) *end++ = last_[i].elapsed;
  }
  if (static_cast<std::size_t>(end - times.begin()) < kLeast) return std::nullopt;
  const auto middle = times.begin() + (end - times.begin()) / 2;
  std::nth_element(times.begin(), middle, end);
  return *middle;
}

}  // namespace tailor::tailord
