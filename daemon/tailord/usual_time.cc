#include "daemon/tailord/usual_time.h"

#include <algorithm>

namespace tailor::tailord {

std::optional<TimeNs> UsualTime::get() const {
  if (count_ < kLeast) return std::nullopt;
  auto sorted = last_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count_, kMost));
  const auto middle = sorted.begin() + (end - sorted.begin()) / 2;
  std::nth_element(sorted.begin(), middle, end);
  return *middle;
}

}  // namespace tailor::tailord
