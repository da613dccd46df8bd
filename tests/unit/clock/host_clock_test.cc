#include "daemon/clock/host_clock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tailor::clock {
namespace {

TEST(HostClock, PairsAreOrdered) {
  const Pair first = read_pair(4);
  const Pair second = read_pair(4);
  EXPECT_LE(first.before, first.after);
  EXPECT_LE(first.after, second.before);
  EXPECT_LE(first.raw_ns, second.raw_ns);
}

TEST(HostClock, ReadsTheClocksource) {
  const std::filesystem::path sys = testing::TempDir() + "tailor_host_clock";
  const auto folder = sys / "devices/system/clocksource/clocksource0";
  std::filesystem::create_directories(folder);
  HostClock host(sys);
  EXPECT_FALSE(host.observe().tsc_is_clocksource);
  std::ofstream(folder / "current_clocksource") << "hpet\n";
  EXPECT_FALSE(host.observe().tsc_is_clocksource);
  std::ofstream(folder / "current_clocksource") << "tsc\n";
  EXPECT_TRUE(host.observe().tsc_is_clocksource);
  std::filesystem::remove_all(sys);
}

}  // namespace
}  // namespace tailor::clock
