#include "daemon/query/sums/binomial.h"

#include <cmath>
#include <utility>

namespace tailor::query {
namespace {

// One step of Lentz's method for continued fractions: no denominator may be zero.
double not_zero(double value) {
  constexpr double kTiny = 1e-300;
  return std::abs(value) < kTiny ? kTiny : value;
}

// The continued fraction of the incomplete beta function (DLMF 8.17.22), for x left of the function's bend.
double beta_fraction(double a, double b, double x) {
  constexpr int kMostTerms = 200'000;  // the square root of the samples is enough: ten thousand million
  constexpr double kPrecision = 1e-13;
  double c = 1, d = 1 / not_zero(1 - (a + b) * x / (a + 1));
  double out = d;
  for (int m = 1; m < kMostTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / not_zero(1 + even * d);
    c = not_zero(1 + even / c);
    out *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / not_zero(1 + odd * d);
    c = not_zero(1 + odd / c);
    out *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return out;
}

double log_gamma(double value) {
  int sign = 1;
  return ::lgamma_r(value, &sign);  // std::lgamma writes a global variable
}

// The regularised incomplete beta function I_x(a, b) (DLMF 8.17.2), for 0 < x < 1.
double incomplete_beta(double a, double b, double x) {
  const bool right = x > (a + 1) / (a + b + 2);
  if (right) {
    std::swap(a, b);
    x = 1 - x;
  }
  const double log_front =
      log_gamma(a + b) - log_gamma(a) - log_gamma(b) + a * std::log(x) + b * std::log1p(-x);
  const double left_part = std::exp(log_front) * beta_fraction(a, b, x) / a;
  return right ? 1 - left_part : left_part;
}

}  // namespace

double least_share(double hits, double misses, double confidence) {
  if (!(hits > 0)) return 0;
  // These hits or more are as unlikely as the confidence allows: the chance grows with the share.
  double low = 0, high = 1;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (incomplete_beta(hits, misses + 1, middle) < 1 - confidence ? low : high) = middle;
  }
  return low;
}

}  // namespace tailor::query
