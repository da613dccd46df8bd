#include "daemon/query/sums/binomial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tailor::query {
namespace {

// The chance of `hits` or more of `all`, added up.
double chance(int hits, int all, double share) {
  double sum = 0;
  for (int i = hits; i <= all; ++i)
    sum += std::exp(std::lgamma(all + 1) - std::lgamma(i + 1) - std::lgamma(all - i + 1) +
                    i * std::log(share) + (all - i) * std::log1p(-share));
  return sum;
}

TEST(LeastShare, HasTheChanceThatTheConfidenceLeaves) {
  for (const int all : {1, 5, 40, 2000}) {
    for (const int hits : {1, all / 3 + 1, all}) {
      for (const double confidence : {0.95, 0.9975}) {
        const double share = least_share(hits, all - hits, confidence);
        EXPECT_NEAR(chance(hits, all, share), 1 - confidence, 1e-6) << hits << " of " << all;
      }
    }
  }
}

TEST(LeastShare, OfNothingIsNothing) {
  EXPECT_EQ(least_share(0, 10, 0.95), 0);
  EXPECT_EQ(least_share(0, 0, 0.95), 0);
}

TEST(LeastShare, OfVeryManyIsTheShare) {
  EXPECT_NEAR(least_share(3e9, 7e9, 0.95), 0.3, 1e-5);
  EXPECT_LT(least_share(3e9, 7e9, 0.95), 0.3);
}

}  // namespace
}  // namespace tailor::query
