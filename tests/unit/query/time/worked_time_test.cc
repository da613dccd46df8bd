#include "daemon/query/time/worked_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace tailor::query {
namespace {

TEST(WorkedTime, EachMomentIsDividedAmongTheThreadsThatWork) {
  // One thread alone, then two, then three; a gap, and one again.
  const std::vector<WorkSpan> spans = {{0, 60, 1}, {20, 60, 2}, {40, 60, 3}, {80, 90, 3}};
  const WorkedTime out = divide_elapsed(spans, 0, 100);
  EXPECT_NEAR(out.parts[0], 20 + 10 + 20.0 / 3, 1e-9);
  EXPECT_NEAR(out.parts[1], 10 + 20.0 / 3, 1e-9);
  EXPECT_NEAR(out.parts[2], 20.0 / 3, 1e-9);
  EXPECT_NEAR(out.parts[3], 10, 1e-9);
  EXPECT_EQ(out.covered, 70);
  EXPECT_EQ(out.worked, (std::vector<TimeNs>{60, 40, 20, 10}));
}

TEST(WorkedTime, AThreadCountsOnceAndWhatIsOutsideDoesNot) {
  // The second span of the thread begins while its first one lasts.
  const WorkedTime twice = divide_elapsed({{0, 10, 1}, {5, 20, 1}}, 0, 100);
  EXPECT_EQ(twice.parts, (std::vector<double>{10, 10}));
  EXPECT_EQ(twice.covered, 20);
  const WorkedTime cut = divide_elapsed({{-50, 10, 1}, {95, 130, 2}, {200, 300, 3}, {-9, -3, 4}}, 0, 100);
  EXPECT_EQ(cut.parts, (std::vector<double>{10, 5, 0, 0}));
  EXPECT_EQ(cut.worked, (std::vector<TimeNs>{10, 5, 0, 0}));
  EXPECT_EQ(divide_elapsed({}, 0, 100).covered, 0);
}

// Moment by moment: of each thread the span that ends next, if it has begun.
std::vector<double> slowly_divided(const std::vector<WorkSpan>& spans, TimeNs from, TimeNs to) {
  std::vector<double> parts(spans.size(), 0);
  for (TimeNs now = from; now < to; ++now) {
    std::map<std::uint64_t, std::size_t> next;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (spans[i].end <= now) continue;
      const auto [at, added] = next.try_emplace(spans[i].thread, i);
      if (!added && spans[i].end < spans[at->second].end) at->second = i;
    }
    std::erase_if(next, [&](const auto& each) { return spans[each.second].begin > now; });
    for (const auto& [thread, i] : next) parts[i] += 1.0 / static_cast<double>(next.size());
  }
  return parts;
}

TEST(WorkedTime, AgreesWithASlowOracle) {
  for (unsigned seed = 1; seed <= 300; ++seed) {
    std::mt19937 random(seed);
    std::vector<WorkSpan> spans;
    for (unsigned i = random() % 40; i > 0; --i) {
      const auto begin = static_cast<TimeNs>(random() % 140) - 20;
      spans.push_back({begin, begin + static_cast<TimeNs>(random() % 30), random() % (1 + seed % 6)});
    }
    const auto from = static_cast<TimeNs>(random() % 20), to = static_cast<TimeNs>(80 + random() % 30);
    const WorkedTime out = divide_elapsed(spans, from, to);
    const std::vector<double> truth = slowly_divided(spans, from, to);
    for (std::size_t i = 0; i < spans.size(); ++i) ASSERT_NEAR(out.parts[i], truth[i], 1e-9) << seed;
    const double sum = std::accumulate(truth.begin(), truth.end(), 0.0);
    EXPECT_NEAR(static_cast<double>(out.covered), sum, 1e-9) << seed;
    EXPECT_LE(out.covered, to - from) << seed;
  }
}

constexpr TimeNs kMs = 1'000'000, kSecond = 1000 * kMs;

// Four threads that never wait: the first one for two seconds, the others for the second of them. Every 50 ms
// each gets another period, from half a millisecond to two.
std::vector<WorkSpan> drawn_spans(unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> rate(0.5, 2);
  std::vector<WorkSpan> spans;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    TimeNs now = thread == 0 ? 0 : kSecond, period = 0, redraw = 0;
    while (now < 2 * kSecond) {
      if (now >= redraw) {
        period = static_cast<TimeNs>(static_cast<double>(kMs) / rate(random));
        redraw = now + 50 * kMs;
      }
      spans.push_back({now, now + period, thread});
      now += period;
    }
  }
  return spans;
}

double part_of_first(const std::vector<WorkSpan>& spans) {
  const WorkedTime out = divide_elapsed(spans, 0, 2 * kSecond);
  double part = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) part += spans[i].thread == 0 ? out.parts[i] : 0;
  return part / static_cast<double>(kSecond);
}

TEST(WorkedTime, PeriodsThatAreDrawnMakeNoBias) {
  for (unsigned seed = 1; seed <= 20; ++seed)
    EXPECT_NEAR(part_of_first(drawn_spans(seed)), 1.25, 0.005) << seed;
}

// The twin that must not pass: each sample stands for the mean period.
TEST(WorkedTime, TheMeanPeriodWouldBeSeen) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::vector<WorkSpan> spans = drawn_spans(seed);
    TimeNs sum = 0;
    for (const WorkSpan& span : spans) sum += span.end - span.begin;
    const TimeNs mean = sum / static_cast<TimeNs>(spans.size());
    for (WorkSpan& span : spans) span.begin = span.end - mean;
    EXPECT_LT(part_of_first(spans), 1.25 - 0.02) << seed;
  }
}

}  // namespace
}  // namespace tailor::query
