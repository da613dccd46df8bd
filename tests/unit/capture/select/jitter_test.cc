// Drawn periods on simulated timers, of targets with a rhythm: is the truth in the interval as often as it
// says? A timer of a fixed period is the twin that fails.
#include "daemon/capture/select/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>

#include "daemon/query/interval.h"

namespace tailor::capture {
namespace {

constexpr std::array<std::uint64_t, 8> kRates = {19, 99, 100, 997, 1000, 4999, 5000, 10'000};
constexpr std::array<std::uint64_t, 8> kRhythms = {100'000,   200'000,   500'000,    1'000'000,
                                                   2'000'000, 4'000'000, 10'000'000, 20'000'000};

// A target that does one thing for the first `busy` ns of each `cycle`.
struct Rhythm {
  std::uint64_t cycle = 1, busy = 0, offset = 0;
  bool at(std::uint64_t time) const { return (time + offset) % cycle < busy; }
};

struct Seen {
  double hits = 0, all = 0, squares = 0;
  double share() const { return hits / all; }
  double effective() const { return all * all / squares; }
  bool holds(double truth) const {
    const query::Interval interval = query::wilson(share(), effective());
    return interval.low <= truth && truth <= interval.high;
  }
};

// One timer that always runs, for as long as `samples` periods of `spec` take: each period lasts as long as
// it does in a recording, and the event that follows begins with a whole one. `draw` empty: it is fixed.
Seen sample(const EventSpec& spec, const Rhythm& rhythm, std::uint64_t samples, PeriodDraw* draw) {
  Seen seen;
  const std::uint64_t end = samples * spec.period;
  const auto lasts = static_cast<std::uint64_t>(redraw_after(spec));
  for (std::uint64_t begin = 0; begin < end; begin += lasts) {
    const std::uint64_t period = draw != nullptr ? draw->draw(spec) : spec.period;
    const auto weight = static_cast<double>(period);
    for (std::uint64_t time = begin + period; time <= std::min(begin + lasts, end); time += period) {
      seen.all += weight;
      seen.squares += weight * weight;
      if (rhythm.at(time)) seen.hits += weight;
    }
  }
  return seen;
}

// The number of hits among `cells` intervals of 95 % that is not reached once in a thousand.
double least_hits(double cells) {
  constexpr double kDeviations = 3.0902;
  return cells * 0.95 - kDeviations * std::sqrt(cells * 0.95 * 0.05) - 1;
}

double to_share(std::uint64_t random) {
  return static_cast<double>(random >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

double between(double low, double high, std::mt19937_64& random) {
  return low + (high - low) * to_share(random());
}

struct Cell {
  EventSpec spec;
  Rhythm rhythm;
  std::uint64_t samples = 0;
};

Cell cell_of(std::uint64_t hz, std::uint64_t cycle, std::mt19937_64& random) {
  constexpr std::array<std::uint64_t, 4> kSamples = {100, 500, 2000, 8000};
  Cell cell;
  cell.spec = cpu_clock(hz);
  cell.rhythm.cycle = cycle;
  cell.rhythm.busy = static_cast<std::uint64_t>(static_cast<double>(cycle) * between(0.05, 0.95, random));
  cell.rhythm.offset = random() % cycle;
  cell.samples = kSamples[random() % kSamples.size()];
  return cell;
}

// How many of the cells' intervals hold the truth.
double hits_of(const std::vector<Cell>& cells, bool jitter) {
  PeriodDraw draw(7);
  double hits = 0;
  for (const Cell& cell : cells) {
    const double truth = static_cast<double>(cell.rhythm.busy) / static_cast<double>(cell.rhythm.cycle);
    hits += sample(cell.spec, cell.rhythm, cell.samples, jitter ? &draw : nullptr).holds(truth);
  }
  return hits;
}

std::vector<Cell> round_cells() {
  std::mt19937_64 random(1);
  std::vector<Cell> cells;
  for (std::uint64_t hz : kRates) {
    for (std::uint64_t cycle : kRhythms) {
      for (int i = 0; i < 40; ++i) cells.push_back(cell_of(hz, cycle, random));
    }
  }
  return cells;
}

TEST(Jitter, IntervalsHoldTheTruthOfRoundRhythms) {
  const std::vector<Cell> cells = round_cells();
  EXPECT_GE(hits_of(cells, true), least_hits(static_cast<double>(cells.size()))) << cells.size();
}

TEST(Jitter, IntervalsHoldTheTruthOfAnyRhythm) {
  std::mt19937_64 random(2);
  std::vector<Cell> cells;
  for (int i = 0; i < 3000; ++i) {
    const double hz = std::exp(between(std::log(19), std::log(10'000), random));
    const double cycle = std::exp(between(std::log(1e5), std::log(2e7), random));
    cells.push_back(cell_of(static_cast<std::uint64_t>(hz), static_cast<std::uint64_t>(cycle), random));
  }
  EXPECT_GE(hits_of(cells, true), least_hits(static_cast<double>(cells.size()))) << cells.size();
}

// Rhythms that are a simple ratio of the period asked for: where a timer keeps step.
TEST(Jitter, IntervalsHoldTheTruthOfRhythmsInStep) {
  std::mt19937_64 random(3);
  std::vector<Cell> cells;
  for (std::uint64_t hz : kRates) {
    for (std::uint64_t number = 1; number <= 3; ++number) {
      for (std::uint64_t parts = 1; parts <= 3; ++parts) {
        for (int i = 0; i < 30; ++i) {
          cells.push_back(cell_of(hz, cpu_clock(hz).period * number / parts, random));
        }
      }
    }
  }
  EXPECT_GE(hits_of(cells, true), least_hits(static_cast<double>(cells.size()))) << cells.size();
}

// The twin: nothing of the above holds of a fixed period.
TEST(Jitter, AFixedPeriodFails) {
  const std::vector<Cell> cells = round_cells();
  EXPECT_LT(hits_of(cells, false), least_hits(static_cast<double>(cells.size())));
  std::mt19937_64 random(4);
  Cell step = cell_of(1000, 1'000'000, random);
  step.spec.period = step.rhythm.cycle = 1'000'000;
  step.rhythm.busy = 280'000;
  const double share = sample(step.spec, step.rhythm, 8000, nullptr).share();
  EXPECT_TRUE(share == 0 || share == 1) << share;
}

// What the samples stand for is the time that passed, at every rate, on a CPU whose threads live long or run
// for moments of a rhythm of their own.
TEST(Jitter, WeightsAddUpToTheTimeAtEveryRate) {
  PeriodDraw draw(5);
  std::mt19937_64 random(6);
  for (std::uint64_t hz : kRates) {
    const EventSpec spec = cpu_clock(hz);
    constexpr std::uint64_t kSamples = 60'000;
    const double time = static_cast<double>(kSamples) * static_cast<double>(spec.period);
    const Seen always = sample(spec, {1, 1, 0}, kSamples, &draw);
    EXPECT_NEAR(always.all / time, 1, 0.03) << hz;
    EXPECT_NEAR(always.effective() / kSamples, 1, 0.2) << hz << ": about as many as were asked for";
    Rhythm moments{10'000'000, 7'000'000, random() % 10'000'000};  // as the scheduler's tick is
    EXPECT_NEAR(sample(spec, moments, kSamples, &draw).hits / time, 0.7, 0.03) << hz;
  }
}

TEST(Jitter, DrawsStayNearAndAreWhatTheHardwareCanHave) {
  PeriodDraw draw(8);
  const EventSpec clock = cpu_clock(997);
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t period = draw.draw(clock);
    drawn.insert(period);
    EXPECT_GE(static_cast<double>(period), 0.75 * static_cast<double>(clock.period));
    EXPECT_LE(period, longest_period(clock));
  }
  EXPECT_GT(drawn.size(), 990u);
  EventSpec fastest = cpu_clock(100'000);
  fastest.period = 10'000;
  EventSpec ibs = clock;
  ibs.mechanism = Mechanism::kIbs;
  ibs.unit = profile::Unit::kEvents;
  ibs.period = 0x90;
  EventSpec faults = clock;
  faults.mechanism = Mechanism::kSoftware;
  faults.unit = profile::Unit::kEvents;
  for (int i = 0; i < 100; ++i) {
    EXPECT_GE(draw.draw(fastest), 10'000u) << "the kernel has no shorter one";
    faults.period = 1;
    EXPECT_EQ(draw.draw(faults), 1u) << "counted one by one";
    faults.period = 2;
    EXPECT_GE(draw.draw(faults), 1u);
    const std::uint64_t operations = draw.draw(ibs);
    EXPECT_GE(operations, 0x90u);
    EXPECT_EQ(operations % 16, 0u);
  }
  EXPECT_EQ(draw.draw(off_cpu()), 1u);
}

}  // namespace
}  // namespace tailor::capture
