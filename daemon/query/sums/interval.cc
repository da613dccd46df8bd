#include "daemon/query/sums/interval.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tailor::query {
namespace {

constexpr double kZ = 1.959964;  // 97.5 % of the normal distribution

}  // namespace

Interval wilson(double share, double samples) {
  if (!(samples > 0)) return {};
  share = std::clamp(share, 0.0, 1.0);
  const double scale = 1 + kZ * kZ / samples;
  const double middle = (share + kZ * kZ / (2 * samples)) / scale;
  const double half =
      kZ / scale * std::sqrt(share * (1 - share) / samples + kZ * kZ / (4 * samples * samples));
  // The share lies within; what is rounded may say otherwise.
  return {std::clamp(middle - half, 0.0, share), std::clamp(middle + half, share, 1.0)};
}

double student95(double degrees) {
  // Rounded down, of 1 to 10 degrees: the expansion below is not for these.
  static constexpr std::array<double, 10> kFew = {12.7062, 4.3027, 3.1825, 2.7764, 2.5706,
                                                  2.4469,  2.3646, 2.3060, 2.2622, 2.2281};
  if (!(degrees >= 1)) return kFew.front();
  if (degrees < static_cast<double>(kFew.size() + 1)) return kFew[static_cast<std::size_t>(degrees) - 1];
  // Cornish and Fisher's expansion: right to 0.002 here.
  constexpr double kZ3 = kZ * kZ * kZ, kZ5 = kZ3 * kZ * kZ;
  return kZ + (kZ3 + kZ) / (4 * degrees) + (5 * kZ5 + 16 * kZ3 + 3 * kZ) / (96 * degrees * degrees);
}

}  // namespace tailor::query
