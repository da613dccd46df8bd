// What the tests in C++ judge by: failures that a disturbed host excuses, and refusals that none does.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/support/chance.h"
#include "tests/support/disturbance.h"
#include "tests/support/host_allows.h"

namespace tailor::test {
namespace {

// Says what it is told to, try by try.
struct Played {
  static inline std::string says;
  std::string taken() const { return says; }
};

// How often it was tried, and what of it counts: failures that were told, and whether it skipped.
struct Ended {
  int tries = 0, failures = 0;
  bool skipped = false;
};
template <typename Attempt>
Ended run(Attempt attempt) {
  Ended ended;
  testing::TestPartResultArray results;
  {
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    undisturbed<Played>([&] {
      ++ended.tries;
      attempt(ended.tries);
    });
  }
  for (int i = 0; i < results.size(); ++i) {
    ended.failures += results.GetTestPartResult(i).failed() ? 1 : 0;
    ended.skipped |= results.GetTestPartResult(i).skipped();
  }
  failed_for_good() = false;
  return ended;
}

TEST(Undisturbed, AFailureOnAQuietHostCounts) {
  Played::says = "";
  const Ended ended = run([](int) { EXPECT_TRUE(false); });
  EXPECT_EQ(ended.tries, 1);
  EXPECT_EQ(ended.failures, 1);
}

TEST(Undisturbed, AFailureOnADisturbedHostIsTriedAgain) {
  Played::says = "the host took all of it";
  const Ended ended = run([](int tries) { EXPECT_GT(tries, 2); });
  EXPECT_EQ(ended.tries, 3);
  EXPECT_EQ(ended.failures, 0);
  EXPECT_FALSE(ended.skipped);
}

TEST(Undisturbed, WhereEveryTryIsDisturbedTheTestSkips) {
  Played::says = "the host took all of it";
  const Ended ended = run([](int) { EXPECT_TRUE(false); });
  EXPECT_EQ(ended.tries, 4);
  EXPECT_EQ(ended.failures, 0);
  EXPECT_TRUE(ended.skipped);
}

TEST(Undisturbed, NoHostExcusesARecorderThatRefuses) {
  Played::says = "the host took all of it";
  const Ended ended = run([](int) { skip_if_denied("", "it does not work"); });
  EXPECT_EQ(ended.tries, 1);
  EXPECT_EQ(ended.failures, 1);
}

TEST(Undisturbed, ARefusalIsASkipWhereTheHostDenies) {
  EXPECT_EQ(skip_if_denied("perf_event_open: Permission denied", "cannot"),
            "perf_event_open: Permission denied (cannot)");
  EXPECT_FALSE(failed_for_good());
}

// What a child burns that nobody has waited for is not the test's own; what others burn disturbs.
TEST(Disturbance, CountsWhatOthersUse) {
  const Disturbance disturbance;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  // Together a tenth of all CPUs.
  std::vector<pid_t> children(static_cast<std::size_t>(1 + ::sysconf(_SC_NPROCESSORS_ONLN) / 10));
  for (pid_t& child : children) {
    child = ::fork();
    if (child != 0) continue;
    while (std::chrono::steady_clock::now() < end) {
    }
    ::_exit(0);
  }
  std::string taken;
  while (taken.empty() && std::chrono::steady_clock::now() < end) taken = disturbance.taken();
  EXPECT_NE(taken.find("others used"), std::string::npos) << taken;
  for (const pid_t child : children) {
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
  }
}

TEST(Chance, BoundsAreThoseOfPython) {
  EXPECT_NEAR(by_chance(0.25, 500), 0.1086, 0.0001);
  EXPECT_NEAR(edge(500, 0.95, false), 0.8912, 0.0001);
  EXPECT_NEAR(of_count(2000), 0.1229, 0.0001);
  EXPECT_EQ(by_chance(0.5, 0), 0.5);
}

}  // namespace
}  // namespace tailor::test
