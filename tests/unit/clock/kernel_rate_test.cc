#include "daemon/clock/kernel_rate.h"

#include <gtest/gtest.h>

namespace tailor::clock {
namespace {

// How the kernel makes the mult and shift of its sched_clock: as many bits as 32 allow, shift 31 at most.
std::uint32_t perf_mult(std::uint64_t khz) {
  return static_cast<std::uint32_t>(((1'000'000ull << 31) + khz / 2) / khz);
}

TEST(KernelRate, FrequencyComesBackFromPerfsRate) {
  for (std::uint64_t khz : {1'000'001ull, 2'095'076ull, 2'899'998ull, 3'600'000ull, 5'000'123ull}) {
    EXPECT_EQ(khz_of_perf_rate(perf_mult(khz), 31), khz);
  }
}

TEST(KernelRate, NonsenseGivesNothing) {
  EXPECT_EQ(khz_of_perf_rate(0, 31), 0u);
  EXPECT_EQ(khz_of_perf_rate(5, 64), 0u);
  EXPECT_EQ(clocksource_rate(0).mult, 0u);
  EXPECT_EQ(clocksource_rate(1ull << 33).mult, 0u);
}

// Known pairs, as the kernel publishes them in its timekeeper.
TEST(KernelRate, IsTheClocksourcesRoundedRate) {
  for (std::uint64_t khz : {1'000'000ull, 2'095'076ull, 2'899'998ull, 3'600'000ull, 4'999'999ull}) {
    const Rate rate = clocksource_rate(khz);
    ASSERT_NE(rate.mult, 0u);
    const double exact = 1e6 / static_cast<double>(khz);
    const double ours = static_cast<double>(rate.mult) / static_cast<double>(1ull << rate.shift);
    EXPECT_LT(std::abs(ours / exact - 1), 1.3e-7) << khz;
    // Ten minutes of ticks fit into 64 bits.
    EXPECT_LT(static_cast<double>(rate.mult) * 600e3 * static_cast<double>(khz), 0x1p64) << khz;
  }
}

}  // namespace
}  // namespace tailor::clock
