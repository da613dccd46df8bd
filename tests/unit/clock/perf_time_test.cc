#include "daemon/clock/perf_time.h"

#include <gtest/gtest.h>

#include "daemon/clock/model.h"
#include "tests/unit/clock/fake_host.h"

namespace tailor::clock {
namespace {

TEST(PerfTime, PageGivesTheKernelsOwnFormula) {
  const PerfPageTime page{.mult = 740'519'000, .shift = 31, .zero = 1'000'000};
  const auto line = perf_line_of(page);
  ASSERT_TRUE(line);
  for (std::uint64_t tsc : {0ull, 12'345ull, 9'000'000'000'000ull}) {
    // perf_event.h, cap_usr_time_zero
    const std::uint64_t quot = tsc >> page.shift, rem = tsc & ((1ull << page.shift) - 1);
    const std::uint64_t perf = page.zero + quot * page.mult + ((rem * page.mult) >> page.shift);
    EXPECT_NEAR(to_ns(*line, tsc), static_cast<TimeNs>(perf), 1);
  }
  EXPECT_FALSE(perf_line_of({}));
  EXPECT_FALSE(perf_line_of({.mult = 1, .shift = 64, .zero = 0}));
}

TEST(PerfTime, PerfTimesBecomeTailorTimes) {
  FakeHost host;
  Model model;
  for (int i = 0; i < 20; ++i, host.advance_ns(100'000'000)) {
    Observation seen = host.observe();
    seen.perf = host.perf_page();
    (void)model.observe(seen);
  }
  ASSERT_TRUE(model.perf_line());
  const std::uint64_t tsc = host.now();
  const auto perf = static_cast<std::uint64_t>(to_ns(*model.perf_line(), tsc));
  EXPECT_NEAR(perf_to_ns(*model.perf_line(), model.timeline(), perf), host.truth(tsc), 60);
}

TEST(PerfTime, PairsOfTheModuleServeWhereThePageDoesNot) {
  FakeHost host;
  Model model;
  const TimeNs behind = 123'456;
  for (int i = 0; i < 20; ++i, host.advance_ns(100'000'000)) {
    Observation seen = host.observe();
    const Pair pair = host.pair();
    seen.module = host.module_at(pair.before);
    seen.module->perf_tsc = pair.before;
    seen.module->perf_ticks = pair.after - pair.before;
    seen.module->perf_ns = static_cast<std::uint64_t>(pair.raw_ns - behind);
    (void)model.observe(seen);
  }
  ASSERT_TRUE(model.perf_line());
  EXPECT_EQ(model.perf_line()->source, Source::kModule);
  const std::uint64_t tsc = host.now();
  const auto perf = static_cast<std::uint64_t>(host.truth(tsc) - behind);
  EXPECT_NEAR(perf_to_ns(*model.perf_line(), model.timeline(), perf), host.truth(tsc), 200);
}

TEST(PerfTime, UnknownWithoutASource) {
  FakeHost host;
  Model model;
  (void)model.observe(host.observe());
  EXPECT_FALSE(model.perf_line());
}

}  // namespace
}  // namespace tailor::clock
