// Drawn periods on simulated timers, of targets with a rhythm: is the truth in the interval as often as it
// says? A timer of a fixed period is the twin that fails.
#include "daemon/capture/select/jitter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include "daemon/query/sums/interval.h"

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
  double hits = 0, all = 0, squares = 0, hit_squares = 0;
  double share() const { return hits / all; }
  double effective() const { return all * all / squares; }
  bool holds(double truth) const {
    const query::Interval interval = query::wilson(share(), effective());
    return interval.low <= truth && truth <= interval.high;
  }
};

// Empty: periods are fixed.
using Draw = std::function<PeriodDraw::Pair(const EventSpec&)>;

Draw drawn(std::uint64_t seed) {
  return [draw = PeriodDraw(seed)](const EventSpec& spec) mutable { return draw.draw_pair(spec); };
}

// The twin of opposite rates: two that have nothing to do with each other.
Draw drawn_alone(std::uint64_t seed) {
  return [draw = PeriodDraw(seed)](const EventSpec& spec) mutable {
    const std::uint64_t period = draw.draw(spec);
    return PeriodDraw::Pair{period, period};
  };
}

// How a timer runs. `times`: so much longer than the others its period lasts, as where perf takes the
// samples; then it has no other one to take turns with.
struct Timing {
  std::uint64_t lasts, turn;
  bool few;  // periods, each time: one that is new begins somewhere within one
  Timing(const EventSpec& spec, std::uint64_t times)
      : lasts(times * static_cast<std::uint64_t>(redraw_after(spec))),
        turn(times > 1 ? lasts : static_cast<std::uint64_t>(turn_of(spec))),
        few(lasts / spec.period < kPeriodsToLose) {}
};

// Timers of a CPU that always run by turns, for as long as `samples` periods of `spec` take. Calls
// take(time, period) for each sample.
template <typename Take>
void run_timers(const EventSpec& spec, std::uint64_t seed, std::uint64_t samples, const Draw& draw,
                std::uint64_t times, Take take) {
  struct Timer {
    std::uint64_t period = 0, left = 0, ran = 0;
  };
  const Timing timing(spec, times);
  std::mt19937_64 random(seed);
  std::uint64_t opposite = 0;
  const auto next = [&](bool first) {
    std::uint64_t period = draw ? std::exchange(opposite, 0) : spec.period;
    if (period == 0) {
      const auto [one, other] = draw(spec);
      period = one;
      if (times == 1) opposite = other;
    }
    return Timer{period, draw && timing.few && !first ? 1 + random() % period : period, 0};
  };
  std::vector<Timer> timers(draw && times == 1 ? 2 : 1);
  for (Timer& each : timers) each = next(true);
  std::size_t turn = 0;
  for (std::uint64_t now = 0, end = samples * spec.period; now < end;) {
    Timer& timer = timers[turn];
    const std::uint64_t until = std::min(end, now + timing.turn);
    for (; now + timer.left <= until; timer.left = timer.period) {
      now += timer.left;
      timer.ran += timer.left;
      take(now, timer.period);
    }
    timer.left -= until - now;
    timer.ran += until - now;
    now = until;
    turn = (turn + 1) % timers.size();
    if (timers[turn].ran >= timing.lasts) timers[turn] = next(false);
  }
}

Seen sample(const EventSpec& spec, const Rhythm& rhythm, std::uint64_t samples, const Draw& draw,
            std::uint64_t times = 1) {
  Seen seen;
  run_timers(spec, rhythm.offset, samples, draw, times, [&](std::uint64_t time, std::uint64_t period) {
    const auto weight = static_cast<double>(period);
    seen.all += weight;
    seen.squares += weight * weight;
    if (!rhythm.at(time)) return;
    seen.hits += weight;
    seen.hit_squares += weight * weight;
  });
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

double truth_of(const Cell& cell) {
  return static_cast<double>(cell.rhythm.busy) / static_cast<double>(cell.rhythm.cycle);
}

// How many of the cells' intervals hold the truth.
double hits_of(const std::vector<Cell>& cells, const Draw& draw) {
  double hits = 0;
  for (const Cell& cell : cells) {
    hits += sample(cell.spec, cell.rhythm, cell.samples, draw).holds(truth_of(cell));
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
  EXPECT_GE(hits_of(cells, drawn(7)), least_hits(static_cast<double>(cells.size()))) << cells.size();
}

TEST(Jitter, IntervalsHoldTheTruthOfAnyRhythm) {
  std::mt19937_64 random(2);
  std::vector<Cell> cells;
  for (int i = 0; i < 3000; ++i) {
    const double hz = std::exp(between(std::log(19), std::log(10'000), random));
    const double cycle = std::exp(between(std::log(1e5), std::log(2e7), random));
    cells.push_back(cell_of(static_cast<std::uint64_t>(hz), static_cast<std::uint64_t>(cycle), random));
  }
  EXPECT_GE(hits_of(cells, drawn(7)), least_hits(static_cast<double>(cells.size()))) << cells.size();
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
  EXPECT_GE(hits_of(cells, drawn(7)), least_hits(static_cast<double>(cells.size()))) << cells.size();
}

// The twin: nothing of the above holds of a fixed period.
TEST(Jitter, AFixedPeriodFails) {
  const std::vector<Cell> cells = round_cells();
  EXPECT_LT(hits_of(cells, {}), least_hits(static_cast<double>(cells.size())));
  std::mt19937_64 random(4);
  Cell step = cell_of(1000, 1'000'000, random);
  step.spec.period = step.rhythm.cycle = 1'000'000;
  step.rhythm.busy = 280'000;
  const double share = sample(step.spec, step.rhythm, 8000, {}).share();
  EXPECT_TRUE(share == 0 || share == 1) << share;
}

// Recordings of many draws, whose intervals are narrow, of rhythms of some length, in periods: the deviation
// of a share must not be larger than that of independent samples, whatever the rhythm.
std::vector<Cell> long_cells(double from, double to) {
  std::mt19937_64 random(13);
  std::vector<Cell> cells;
  for (int i = 0; i < 600; ++i) {
    const EventSpec spec = cpu_clock(kRates[random() % kRates.size()]);
    const auto cycle =
        static_cast<std::uint64_t>(static_cast<double>(spec.period) * between(from, to, random));
    Cell cell{spec, {cycle, cycle * (5 + random() % 90) / 100, random() % cycle}, 0};
    constexpr std::uint64_t kDraws = 40;
    cell.samples = kDraws * static_cast<std::uint64_t>(redraw_after(spec)) / spec.period;
    cells.push_back(cell);
  }
  return cells;
}

TEST(Jitter, IntervalsOfLongRecordingsHoldTheTruthOfEveryRhythm) {
  constexpr double kStep = 1.25;
  for (double from = 0.2; from < 4; from *= kStep) {
    const std::vector<Cell> cells = long_cells(from, from * kStep);
    EXPECT_GE(hits_of(cells, drawn(14)), least_hits(static_cast<double>(cells.size()))) << from << " periods";
  }
}

// The twin: even draws from a quarter below to a quarter above are not enough.
TEST(Jitter, EvenDrawsFailInLongRecordings) {
  const Draw even = [random = std::mt19937_64(15)](const EventSpec& spec) mutable {
    const auto one = [&] {
      return static_cast<std::uint64_t>(static_cast<double>(spec.period) * between(0.75, 1.25, random) *
                                        1.02);
    };
    return PeriodDraw::Pair{one(), one()};
  };
  const std::vector<Cell> cells = long_cells(1, 1.25);
  EXPECT_LT(hits_of(cells, even), least_hits(static_cast<double>(cells.size())));
}

// A draw that keeps step is rare, and over soon. Recordings of three seconds on two CPUs: how many shares are
// off by more than five deviations?
double very_wrong(const Draw& draw, std::uint64_t times) {
  std::mt19937_64 random(16);
  double wrong = 0, all = 0;
  for (const std::uint64_t hz : {99, 100, 997, 1000}) {
    for (const std::uint64_t cycle : kRhythms) {
      for (int i = 0; i < 200; ++i, ++all) {
        const Cell cell = cell_of(hz, cycle, random);
        Rhythm elsewhere = cell.rhythm;
        elsewhere.offset = random() % cycle;
        const Seen one = sample(cell.spec, cell.rhythm, 3 * hz, draw, times);
        const Seen other = sample(cell.spec, elsewhere, 3 * hz, draw, times);
        const double share = (one.hits + other.hits) / (one.all + other.all);
        const double truth = truth_of(cell);
        const double squares = (one.squares + other.squares) / (one.all + other.all) / (one.all + other.all);
        wrong += std::abs(share - truth) > 5 * std::sqrt(truth * (1 - truth) * squares);
      }
    }
  }
  return wrong / all;
}

TEST(Jitter, VeryWrongSharesAreRare) {
  EXPECT_LT(very_wrong(drawn(17), 1), 0.002);
  EXPECT_GT(very_wrong(drawn(17), 10), 0.002) << "the twin: periods that last ten times as long";
}

// What the samples stand for is the time that passed, at every rate, on a CPU whose threads live long or run
// for moments of a rhythm of their own.
TEST(Jitter, WeightsAddUpToTheTimeAtEveryRate) {
  const Draw draw = drawn(5);
  std::mt19937_64 random(6);
  for (std::uint64_t hz : kRates) {
    const EventSpec spec = cpu_clock(hz);
    constexpr std::uint64_t kSamples = 60'000;
    const double time = static_cast<double>(kSamples) * static_cast<double>(spec.period);
    const Seen always = sample(spec, {1, 1, 0}, kSamples, draw);
    EXPECT_NEAR(always.all / time, 1, 0.03) << hz;
    EXPECT_NEAR(always.effective() / kSamples, 1, 0.2) << hz << ": about as many as were asked for";
    Rhythm moments{10'000'000, 7'000'000, random() % 10'000'000};  // as the scheduler's tick is
    EXPECT_NEAR(sample(spec, moments, kSamples, draw).hits / time, 0.7, 0.03) << hz;
  }
}

// The periods of PEBS last longer (session/redraw.h). The counter counts cycles, of which there are three
// each ns here.
TEST(Jitter, IntervalsOfPebsHoldTheTruth) {
  constexpr std::uint64_t kCyclesPerNs = 3, kTimes = 40;
  EventSpec pebs;
  pebs.mechanism = Mechanism::kPebs;
  pebs.unit = profile::Unit::kEvents;
  std::mt19937_64 random(9);
  const Draw draw = drawn(10);
  double hits = 0, fixed = 0, cells = 0;
  for (std::uint64_t hz : kRates) {
    for (std::uint64_t cycle : kRhythms) {
      for (int i = 0; i < 12; ++i, ++cells) {
        Cell cell = cell_of(hz, cycle * kCyclesPerNs, random);
        // Times are cycles in these cells, and so is the time after which a period is drawn anew.
        pebs.period = cell.spec.period * kCyclesPerNs;
        const double truth = truth_of(cell);
        hits += sample(pebs, cell.rhythm, cell.samples, draw, kTimes * kCyclesPerNs).holds(truth);
        pebs.period = 3'000'000'000 / hz;  // in step with round rhythms
        fixed += sample(pebs, cell.rhythm, cell.samples, {}, kTimes * kCyclesPerNs).holds(truth);
      }
    }
  }
  EXPECT_GE(hits, least_hits(cells)) << cells;
  EXPECT_LT(fixed, least_hits(cells)) << "the twin: periods that are never drawn";
}

// How many totals are within 1.96 of their own deviations: of threads that share a CPU by the scheduler's
// tick, or live for some milliseconds each, and of few samples.
double true_totals(bool jitter, double& cells) {
  const Draw draw = jitter ? drawn(11) : Draw();
  std::mt19937_64 random(12);
  double good = 0;
  for (std::uint64_t hz : kRates) {
    for (const std::uint64_t tick : {1'000'000u, 4'000'000u, 10'000'000u}) {
      for (int i = 0; i < 40; ++i, ++cells) {
        Cell cell = cell_of(hz, tick * (1 + random() % 3), random);
        if (!jitter) cell.spec.period = 1'000'000'000 / hz;
        const double share = truth_of(cell);
        const double time = static_cast<double>(cell.samples) * static_cast<double>(cell.spec.period);
        const Seen seen = sample(cell.spec, cell.rhythm, cell.samples, draw);
        good += std::abs(seen.hits - share * time) <= 1.96 * std::sqrt(seen.hit_squares);
      }
    }
  }
  return good;
}

TEST(Jitter, TotalsAreWithinTheirOwnInterval) {
  double cells = 0;
  const double good = true_totals(true, cells);
  EXPECT_GE(good, least_hits(cells)) << cells;
}

// Why totals at 100 Hz were 68.6 and 135 % of the time used: the scheduler gives the CPU in the same rhythm.
TEST(Jitter, AFixedPeriodGivesWrongTotals) {
  double cells = 0;
  const double good = true_totals(false, cells);
  EXPECT_LT(good, least_hits(cells)) << cells;
  EventSpec fixed = cpu_clock(100);
  fixed.period = 10'000'000;
  constexpr std::uint64_t kSamples = 60'000;
  const double used = 0.74 * static_cast<double>(kSamples) * static_cast<double>(fixed.period);
  EXPECT_NEAR(sample(fixed, {10'000'000, 7'400'000, 0}, kSamples, {}).hits / used, 1.35, 0.01);
  EXPECT_EQ(sample(fixed, {10'000'000, 7'400'000, 8'000'000}, kSamples, {}).hits, 0);
}

// Five phases of 60, 120, ... 300 ms, as a query that compiles and runs one library after the other has: the
// largest error of a phase's part of the *number* of samples, on average, in points.
double wrong_numbers(const Draw& draw) {
  constexpr std::uint64_t kMs = 1'000'000;
  constexpr int kRuns = 300;
  double sum = 0;
  for (int run = 0; run < kRuns; ++run) {
    std::array<double, 5> phases{};
    run_timers(cpu_clock(997), 20, 900, draw, 1, [&](std::uint64_t time, std::uint64_t) {
      std::size_t phase = 0;
      for (std::uint64_t end = 60 * kMs; phase + 1 < phases.size() && time > end;
           end += (++phase + 1) * 60 * kMs) {
      }
      ++phases[phase];
    });
    double all = 0, worst = 0;
    for (const double each : phases) all += each;
    for (std::size_t i = 0; i < phases.size(); ++i)
      worst = std::max(worst, std::abs(phases[i] / all - static_cast<double>(i + 1) / 15));
    sum += 100 * worst / kRuns;
  }
  return sum;
}

TEST(Jitter, NumbersOfSamplesFollowTheTimeToo) {
  EXPECT_LT(wrong_numbers(drawn(21)), 3);
  EXPECT_GT(wrong_numbers(drawn_alone(21)), 3) << "the twin: rates that are not opposite";
}

TEST(Jitter, DrawsStayNearAndAreWhatTheHardwareCanHave) {
  PeriodDraw draw(8);
  const EventSpec clock = cpu_clock(997);
  std::set<std::uint64_t> drawn;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t period = draw.draw(clock);
    drawn.insert(period);
    EXPECT_GE(period, clock.period / 2);
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
