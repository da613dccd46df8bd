#include "daemon/query/interval.h"

#include <algorithm>
#include <cmath>

namespace tailor::query {

Interval wilson(double share, double samples) {
  if (!(samples > 0)) return {};
  constexpr double kZ = 1.959964;  // 97.5 % of the normal distribution
  share = std::clamp(share, 0.0, 1.0);
  const double scale = 1 + kZ * kZ / samples;
  const double middle = (share + kZ * kZ / (2 * samples)) / scale;
  const double half =
      kZ / scale * std::sqrt(share * (1 - share) / samples + kZ * kZ / (4 * samples * samples));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace tailor::query
