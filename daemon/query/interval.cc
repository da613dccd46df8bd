#include "daemon/query/interval.h"

#include <algorithm>
#include <cmath>

namespace tailor::query {

Interval wilson(double share, double samples) {
  if (!(samples > 0)) return {};
  constexpr double z = 1.959964;  // 97.5 % of the normal distribution
  share = std::clamp(share, 0.0, 1.0);
  const double scale = 1 + z * z / samples;
  const double middle = (share + z * z / (2 * samples)) / scale;
  const double half = z / scale * std::sqrt(share * (1 - share) / samples + z * z / (4 * samples * samples));
  return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

}  // namespace tailor::query
