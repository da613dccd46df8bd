#include "daemon/session/cpu_coverage.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

constexpr ProcessId kOne{10, 1}, kOther{11, 2};

TEST(CpuCoverage, TakesWhatTheSamplesUpToALookStandFor) {
  CpuCoverageOfProcesses coverage;
  coverage.begin(kOne, {100, 0});
  std::uint64_t sampled = 0;
  const auto sampled_of = [&](ProcessId) { return sampled; };
  coverage.look(kOne, 1000, {600});
  sampled = 300;
  coverage.settle(999, sampled_of);  // some samples of before the look are still on their way
  EXPECT_EQ(coverage.sum().used, 0u);
  sampled = 490;
  coverage.settle(1000, sampled_of);
  sampled = 700;
  coverage.settle(2000, sampled_of);
  EXPECT_EQ(coverage.sum().used, 500u);
  EXPECT_EQ(coverage.sum().sampled, 490u);
}

TEST(CpuCoverage, MoreThanChanceIsAProcessThatNobodyCounted) {
  EXPECT_FALSE(lacks_a_process({.used = 10'000'000'000, .sampled = 10'500'000'000}));
  EXPECT_FALSE(lacks_a_process({.used = 0, .sampled = 90'000'000}));
  EXPECT_TRUE(lacks_a_process({.used = 310'000'000, .sampled = 35'600'000'000}));
}

TEST(CpuCoverage, AProcessThatIsOverStaysInTheSumWithItsLastLook) {
  CpuCoverageOfProcesses coverage;
  coverage.begin(kOne, {0, 0});
  coverage.begin(kOther, {50, 7});
  coverage.look(kOne, 10, {1000});
  coverage.end(kOne);
  coverage.look(kOther, 10, {150});
  coverage.settle(20, [](ProcessId process) { return process == kOne ? 900u : 107u; });
  EXPECT_EQ(coverage.sum().used, 1100u);
  EXPECT_EQ(coverage.sum().sampled, 1000u);
  coverage.look(kOne, 30, {5000});  // a process that is not sampled any more
  coverage.settle(40, [](ProcessId) { return 9999u; });
  EXPECT_EQ(coverage.sum().used, 1100u);
}

TEST(CpuCoverage, AProcessThatIsSampledOtherwiseGoesOnFromWhereItWas) {
  CpuCoverageOfProcesses coverage;
  coverage.begin(kOne, {0, 0});
  coverage.look(kOne, 10, {100});
  coverage.end(kOne);
  coverage.begin(kOne, {100, 90});
  coverage.settle(20, [](ProcessId) { return 90u; });
  coverage.look(kOne, 30, {200});
  coverage.settle(40, [](ProcessId) { return 180u; });
  EXPECT_EQ(coverage.sum().used, 200u);
  EXPECT_EQ(coverage.sum().sampled, 180u);
}

TEST(CpuCoverage, WhatAProcessUsesInAPauseIsInNoAccount) {
  CpuCoverageOfProcesses coverage;
  coverage.begin(kOne, {0, 0});
  coverage.look(kOne, 10, {100});
  coverage.end(kOne);
  coverage.settle(10, [](ProcessId) { return 95u; });
  coverage.close(kOne);
  coverage.begin(kOne, {1000, 95});  // it used 900 meanwhile
  coverage.look(kOne, 30, {1100});
  // The next pause begins, and ends before the samples up to its look are attributed.
  coverage.end(kOne);
  coverage.close(kOne);
  coverage.begin(kOne, {2000, 190});
  coverage.look(kOne, 50, {2200});
  coverage.settle(60, [](ProcessId) { return 385u; });
  EXPECT_EQ(coverage.sum().used, 300u);
  EXPECT_EQ(coverage.sum().sampled, 290u);
}

TEST(CpuCoverage, OfAProcessThatWasForgottenTheLastLookIsOnNeitherSide) {
  CpuCoverageOfProcesses coverage;
  coverage.begin(kOne, {0, 0});
  coverage.look(kOne, 10, {100});
  coverage.settle(10, [](ProcessId) { return 95u; });
  coverage.look(kOne, 20, {200});
  coverage.end(kOne);
  coverage.settle(30, [](ProcessId) { return std::nullopt; });
  EXPECT_EQ(coverage.sum().used, 100u);
  EXPECT_EQ(coverage.sum().sampled, 95u);
}

}  // namespace
}  // namespace tailor::session
