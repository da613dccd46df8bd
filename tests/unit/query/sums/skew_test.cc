#include "daemon/query/sums/skew.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tailor::query {
namespace {

constexpr double kPeriod = 1e6;  // ns

void add_samples(SkewSum& sum, std::uint32_t execution, std::uint64_t thread, double samples) {
  sum.add(execution, thread, samples * kPeriod, samples * kPeriod * kPeriod);
}

SkewSum of_samples(const std::vector<double>& samples) {
  SkewSum sum;
  for (std::size_t i = 0; i < samples.size(); ++i) add_samples(sum, 0, i, samples[i]);
  return sum;
}

TEST(Skew, EvenWorkHasNone) {
  const auto skew = of_samples({100, 100, 100, 100}).skew();
  ASSERT_TRUE(skew);
  EXPECT_DOUBLE_EQ(skew->value(), 1);
  EXPECT_LT(skew->low(), 1);
}

TEST(Skew, TheBusiestThreadStandsAgainstTheMean) {
  const auto skew = of_samples({100, 300, 100, 100}).skew();
  ASSERT_TRUE(skew);
  EXPECT_DOUBLE_EQ(skew->value(), 2);
  EXPECT_GT(skew->low(), 1.5);
  EXPECT_LT(skew->low(), 2);
}

TEST(Skew, FewSamplesClaimNothing) {
  const std::vector<std::vector<double>> few = {{3, 1}, {1, 1, 1, 4}, {2, 0.5}};
  for (const std::vector<double>& samples : few) {
    const auto skew = of_samples(samples).skew();
    ASSERT_TRUE(skew);
    EXPECT_GT(skew->value(), 1);
    EXPECT_LE(skew->low(), 1);
  }
}

// Added up without their executions, these threads did the same.
TEST(Skew, EachExecutionIsJudgedByItself) {
  SkewSum sum;
  add_samples(sum, 0, 1, 300);
  add_samples(sum, 0, 2, 100);
  add_samples(sum, 7, 1, 50);
  add_samples(sum, 7, 1, 50);
  add_samples(sum, 7, 2, 300);
  const auto skew = sum.skew();
  ASSERT_TRUE(skew);
  EXPECT_DOUBLE_EQ(skew->value(), 1.5);
  EXPECT_GT(skew->low(), 1.2);
}

TEST(Skew, OneThreadHasNone) {
  EXPECT_FALSE(SkewSum().skew());
  EXPECT_FALSE(of_samples({1000}).skew());
  EXPECT_FALSE(of_samples({1000, 0}).skew()) << "a thread without work is none";
  SkewSum sum = of_samples({300, 100});
  add_samples(sum, 1, 0, 1e6);
  ASSERT_TRUE(sum.skew());
  EXPECT_DOUBLE_EQ(sum.skew()->value(), 1.5) << "an execution of one thread says nothing";
}

// By chance alone eight threads rarely have the same number of samples.
TEST(Skew, ChanceIsNoSkew) {
  std::mt19937_64 random(4711);
  constexpr int kTrials = 2000, kThreads = 8, kTaken = 200;
  int claimed = 0, uneven = 0;
  for (int i = 0; i < kTrials; ++i) {
    std::vector<double> samples(kThreads, 0);
    for (int each = 0; each < kTaken; ++each) ++samples[random() % kThreads];
    const auto skew = of_samples(samples).skew();
    ASSERT_TRUE(skew);
    claimed += skew->low() > 1 ? 1 : 0;
    uneven += skew->value() > 1.1 ? 1 : 0;
  }
  EXPECT_LE(claimed, kTrials / 20);
  EXPECT_GT(uneven, kTrials / 2) << "the twin: the value alone would claim it";
}

TEST(Skew, TheTruthIsSeldomLess) {
  std::mt19937_64 random(4712);
  constexpr int kTrials = 2000, kTaken = 300;
  int missed = 0, found = 0;
  for (int i = 0; i < kTrials; ++i) {
    // One of seven threads has twice what each of the others has: 2 / (8 / 7).
    std::vector<double> samples(7, 0);
    for (int each = 0; each < kTaken; ++each) ++samples[random() % 8 % 7];
    const auto skew = of_samples(samples).skew();
    ASSERT_TRUE(skew);
    missed += skew->low() > 1.75 ? 1 : 0;
    found += skew->low() > 1 ? 1 : 0;
  }
  EXPECT_LE(missed, kTrials / 20);
  EXPECT_GT(found, kTrials / 2);
}

}  // namespace
}  // namespace tailor::query
