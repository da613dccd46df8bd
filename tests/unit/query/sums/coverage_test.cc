#include "daemon/query/sums/coverage.h"

#include <gtest/gtest.h>

namespace tailor::query {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

TEST(Coverage, FallsShortBelowNinetyPercent) {
  EXPECT_TRUE(coverage_of(10'000 * kMs, 8'500 * kMs, kMs)->falls_short);
  EXPECT_FALSE(coverage_of(10'000 * kMs, 9'100 * kMs, kMs)->falls_short);
  EXPECT_FALSE(coverage_of(10'000 * kMs, 11'000 * kMs, kMs)->falls_short);
  EXPECT_DOUBLE_EQ(coverage_of(10'000 * kMs, 8'500 * kMs, kMs)->share, 0.85);
}

TEST(Coverage, OfAShortRecordingIsLeftToChance) {
  EXPECT_FALSE(coverage_of(20 * kMs, 8 * kMs, kMs)->falls_short);
  EXPECT_TRUE(coverage_of(555 * kMs, 28 * kMs, kMs)->falls_short);
}

TEST(Coverage, IsOfTheTimerAndOfKnownTimeOnly) {
  profile::RecordingInfo recording;
  recording.cpu_used_ns = 1000 * kMs;
  recording.cpu_sampled_ns = 100 * kMs;
  EXPECT_FALSE(coverage_of(recording));
  recording.sources.push_back({0, "page-faults", profile::Unit::kEvents, 1, false});
  EXPECT_FALSE(coverage_of(recording));
  recording.sources.push_back({1, "cpu-clock", profile::Unit::kNsOnCpu, kMs, false});
  ASSERT_TRUE(coverage_of(recording));
  EXPECT_TRUE(coverage_of(recording)->falls_short);
  recording.cpu_used_ns = 0;
  EXPECT_FALSE(coverage_of(recording));
}

}  // namespace
}  // namespace tailor::query
