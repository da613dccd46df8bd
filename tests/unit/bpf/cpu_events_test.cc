// Two events of a source on each CPU: whose turn it is, and when they are replaced.
#include "daemon/bpf/cpu_events.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <vector>

#include "tests/support/fake_os.h"

namespace tailor::bpf {
namespace {

constexpr TimeNs kOneMs = 1'000'000;

class CpuEventsTest : public testing::Test {
 protected:
  CpuEvents::Attach attach() {
    return [this](UniqueFd fd, std::size_t) -> Result<CpuEvents::Attached> {
      const int number = fd.release();
      live_.push_back(number);
      os_.by_fd(number).enabled = true;  // as the kernel does
      return CpuEvents::Attached{number, std::shared_ptr<void>(this, [number](void* self) {
                                   std::erase(static_cast<CpuEventsTest*>(self)->live_, number);
                                   UniqueFd closed(number);
                                 })};
    };
  }
  CpuEvents events_of(const capture::EventSpec& spec, bool jitter = true) {
    perf_event_attr attr{};
    attr.sample_period = spec.period;
    return {os_, {spec}, {attr}, jitter, attach()};
  }
  // Of those that have the program.
  std::vector<int> running() {
    std::vector<int> out;
    for (const int fd : live_)
      if (os_.by_fd(fd).enabled) out.push_back(fd);
    return out;
  }
  std::uint64_t period_of(int fd) { return os_.by_fd(fd).attr.sample_period; }

  test::FakeOs os_;
  std::vector<int> live_;  // descriptors
};

TEST_F(CpuEventsTest, OfACpuTakeTurns) {
  CpuEvents events = events_of(capture::cpu_clock(997));
  ASSERT_TRUE(events.open({0}, 0).ok());
  ASSERT_EQ(live_.size(), 2u);
  const int one = live_[0], other = live_[1];
  EXPECT_EQ(running(), std::vector<int>{});
  events.run(0, true, 0);
  EXPECT_EQ(running(), std::vector{one});
  events.redraw(40 * kOneMs);
  EXPECT_EQ(running(), std::vector{one});
  events.redraw(50 * kOneMs);
  EXPECT_EQ(running(), std::vector{other});
  events.run(0, false, 60 * kOneMs);
  events.redraw(500 * kOneMs);
  EXPECT_EQ(running(), std::vector<int>{});
  events.run(0, true, 600 * kOneMs);
  EXPECT_EQ(running(), std::vector{other}) << "its turn goes on";
  events.redraw(650 * kOneMs);
  EXPECT_EQ(running(), std::vector{one});
  EXPECT_EQ(os_.opened().size(), 2u);
}

// A CPU that is used for moments has its turns too.
TEST_F(CpuEventsTest, ATurnGoesOnWhereItWasCut) {
  CpuEvents events = events_of(capture::cpu_clock(997));
  ASSERT_TRUE(events.open({0}, 0).ok());
  std::set<int> seen;
  for (TimeNs now = 0; now < 1000 * kOneMs; now += 100 * kOneMs) {
    events.run(0, true, now);
    events.redraw(now);
    for (const int fd : running()) seen.insert(fd);
    events.run(0, false, now + 40 * kOneMs);
  }
  EXPECT_EQ(seen.size(), 2u);
}

// As before there were two.
TEST_F(CpuEventsTest, WithoutDescriptorsTheFirstOnesDoAlone) {
  std::size_t left = 3;
  os_.fail_open = [&](const perf_event_attr&, pid_t, int) { return left-- > 0 ? 0 : EMFILE; };
  CpuEvents events = events_of(capture::cpu_clock(997));
  ASSERT_TRUE(events.open({0, 1}, 0).ok());
  EXPECT_EQ(live_.size(), 3u);
  events.run(1, true, 0);
  ASSERT_EQ(running().size(), 1u);
  os_.fail_open = {};
  const std::uint64_t before = period_of(running()[0]);
  for (auto& each : os_.opened()) each.counted = 1'000'000'000;
  for (TimeNs now = 0; now < 500 * kOneMs; now += 50 * kOneMs) events.redraw(now);
  ASSERT_EQ(running().size(), 1u);
  EXPECT_NE(period_of(running()[0]), before) << "its period is drawn anew all the same";
}

// An operator that runs for some tenths of a second has as many samples as its neighbour.
TEST_F(CpuEventsTest, OfACpuHaveOppositeRates) {
  const capture::EventSpec spec = capture::cpu_clock(997);
  CpuEvents events = events_of(spec);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < 100; ++cpu) cpus.push_back(cpu);
  os_.set_online_cpus("0-99");
  ASSERT_TRUE(events.open(cpus, 0).ok());
  ASSERT_EQ(live_.size(), 200u);
  std::set<std::uint64_t> periods;
  const auto rate = [&](int fd) {
    return static_cast<double>(spec.period) / static_cast<double>(period_of(fd));
  };
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_GT(rate(live_[i]) + rate(live_[i + 100]), 1.82);
    EXPECT_LT(rate(live_[i]) + rate(live_[i + 100]), 2.51);
    periods.insert(period_of(live_[i]));
  }
  EXPECT_GT(periods.size(), 95u) << "each CPU has its own";
}

TEST_F(CpuEventsTest, AreDrawnAnewWhenTheyRanForLong) {
  os_.set_online_cpus("0-3");
  os_.fail_open = [](const perf_event_attr&, pid_t, int cpu) { return cpu == 2 ? ENODEV : 0; };
  CpuEvents events = events_of(capture::cpu_clock(997));
  ASSERT_TRUE(events.open({0, 1, 2, 3}, 0).ok());
  ASSERT_EQ(live_.size(), 6u);
  const std::vector<int> before = live_;
  events.run(1, true, 0);
  for (auto& each : os_.opened()) each.counted = 1'000'000'000;  // many periods
  TimeNs now = 0;
  for (; now < 500 * kOneMs; now += 50 * kOneMs) events.redraw(now);
  EXPECT_EQ(os_.opened().size(), 6u) << "each ran for a quarter of a second at most";
  events.redraw(now);
  ASSERT_EQ(os_.opened().size(), 7u);
  EXPECT_EQ(os_.opened().back().cpu, 1);
  EXPECT_EQ(running(), std::vector{os_.opened().back().fd}) << "at once";
  events.redraw(now += 50 * kOneMs);
  ASSERT_EQ(os_.opened().size(), 8u) << "and then the other one";
  EXPECT_EQ(live_.size(), 6u);
  EXPECT_EQ(running().size(), 1u);
  for (auto& each : os_.opened()) each.counted = 1'000'000'000;
  os_.fail_open = [](const perf_event_attr&, pid_t, int) { return EMFILE; };
  for (int i = 0; i < 25; ++i) events.redraw(now += 50 * kOneMs);
  EXPECT_EQ(live_.size(), 6u) << "the old ones stay";
  EXPECT_EQ(running().size(), 1u);
  // What was drawn meanwhile is not lost: both are opposite again when both could be had.
  os_.fail_open = {};
  const std::size_t opened = os_.opened().size();
  for (int i = 0; i < 25 && os_.opened().size() < opened + 2; ++i) {
    for (auto& each : os_.opened()) each.counted = 1'000'000'000;
    events.redraw(now += 50 * kOneMs);
  }
  ASSERT_EQ(os_.opened().size(), opened + 2);
  double rates = 0;
  for (std::size_t i = opened; i < opened + 2; ++i)
    rates += static_cast<double>(capture::cpu_clock(997).period) /
             static_cast<double>(os_.opened()[i].attr.sample_period);
  EXPECT_GT(rates, 1.82);
  EXPECT_LT(rates, 2.51);
}

// Of few periods a half is not lost: the next event runs beside the old one at first, for one to two periods.
TEST_F(CpuEventsTest, OfFewSamplesAreReplacedByOnesThatRunAlready) {
  CpuEvents events = events_of(capture::cpu_clock(99));
  ASSERT_TRUE(events.open({0}, 0).ok());
  events.run(0, true, 0);
  for (auto& each : os_.opened()) each.counted = 300'000'000;
  events.redraw(300 * kOneMs);
  events.redraw(600 * kOneMs);
  ASSERT_EQ(os_.opened().size(), 3u);
  const int fresh = os_.opened()[2].fd;
  const std::uint64_t period = period_of(fresh);
  EXPECT_FALSE(std::ranges::count(live_, fresh)) << "without the program";
  EXPECT_EQ(running().size(), 1u) << "the old one still has it";
  os_.by_fd(fresh).counted = period - 1;
  events.redraw(610 * kOneMs);
  EXPECT_FALSE(std::ranges::count(live_, fresh));
  os_.by_fd(fresh).counted = 2 * period;
  events.redraw(630 * kOneMs);
  EXPECT_EQ(running(), std::vector{fresh});
  EXPECT_EQ(live_.size(), 2u);
  events.redraw(640 * kOneMs);
  EXPECT_EQ(os_.opened().size(), 3u) << "not before its time";
  events.redraw(900 * kOneMs);
  ASSERT_EQ(os_.opened().size(), 4u);
  const int later = os_.opened()[3].fd;
  events.run(0, false, 910 * kOneMs);
  events.run(0, true, 920 * kOneMs);
  events.redraw(930 * kOneMs);
  EXPECT_FALSE(std::ranges::count(live_, later)) << "what ran beside is gone with the CPU's timer";
}

// A second counter may be one too many for the CPU.
TEST_F(CpuEventsTest, CountersAreReplacedOnlyAfterManyPeriods) {
  capture::EventSpec misses = capture::cpu_clock(99);
  misses.mechanism = capture::Mechanism::kCounter;
  misses.unit = profile::Unit::kEvents;
  misses.period = 100'003;
  CpuEvents events = events_of(misses);
  ASSERT_TRUE(events.open({0}, 0).ok());
  events.run(0, true, 0);
  TimeNs now = 0;
  for (auto& each : os_.opened()) each.counted = 199 * misses.period;
  for (int i = 0; i < 100; ++i) events.redraw(now += 50 * kOneMs);
  EXPECT_EQ(os_.opened().size(), 2u);
  for (auto& each : os_.opened()) each.counted = 201 * misses.period;
  events.redraw(now += 50 * kOneMs);
  ASSERT_EQ(os_.opened().size(), 3u);
  EXPECT_EQ(running(), std::vector{os_.opened()[2].fd});
}

TEST_F(CpuEventsTest, AreExactlyThoseOfTheirSpecWithoutJitter) {
  CpuEvents events = events_of(capture::cpu_clock(997), false);
  ASSERT_TRUE(events.open({0, 1}, 0).ok());
  events.run(0, true, 0);
  events.redraw(1'000'000 * kOneMs);
  ASSERT_EQ(os_.opened().size(), 2u);
  for (const auto& opened : os_.opened())
    EXPECT_EQ(opened.attr.sample_period, capture::cpu_clock(997).period);
}

}  // namespace
}  // namespace tailor::bpf
