#include "daemon/query/time/iterations.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/time/sampled_loop.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr std::int32_t kThread = 4243;

// ---- the times alone

// `rounds` iterations of 100 ms, sampled at random times, 0.4 ms apart in the mean: 90 ms of operators 1 and
// 2 in turns, then 10 ms of operators 3 and 4.
std::vector<OwnedSample> two_phases(int rounds, unsigned seed) {
  std::mt19937 random(seed);
  std::exponential_distribution<double> gap(2.5e-6);
  std::vector<OwnedSample> samples;
  for (double t = gap(random); t < rounds * 100e6; t += gap(random)) {
    const auto time = static_cast<TimeNs>(t);
    const bool second = time % (100 * kMs) >= 90 * kMs;
    samples.push_back({time, static_cast<ComponentId>((second ? 3 : 1) + random() % 2)});
  }
  return samples;
}

TEST(SampledLoop, EndsWhereTheLastOperatorsBurstsEnd) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    const auto ends = iteration_ends(two_phases(12, seed));
    ASSERT_EQ(ends.size(), 12u) << seed;
    for (std::size_t i = 0; i < ends.size(); ++i)
      EXPECT_NEAR(static_cast<double>(ends[i]), static_cast<double>(i + 1) * 100e6, 8e6) << seed;
  }
}

TEST(SampledLoop, AStraySampleIsNoIteration) {
  auto samples = two_phases(12, 3);
  for (TimeNs time : {240 * kMs, 655 * kMs})
    samples.insert(std::upper_bound(samples.begin(), samples.end(), time,
                                    [](TimeNs t, const auto& sample) { return t < sample.time; }),
                   {time, 3});
  EXPECT_EQ(iteration_ends(samples).size(), 12u);
}

// The operators of the second phase have ten samples each in an iteration, and in one of these one or two.
TEST(SampledLoop, ABurstOfFewSamplesIsAnIteration) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto samples = two_phases(12, seed);
    std::map<ComponentId, int> seen;
    std::erase_if(samples, [&](const OwnedSample& sample) {
      const bool in_the_seventh = sample.time >= 600 * kMs && sample.time < 700 * kMs;
      return in_the_seventh && sample.owner >= 3 && ++seen[sample.owner] > 1 + static_cast<int>(seed % 2);
    });
    const auto ends = iteration_ends(samples);
    ASSERT_EQ(ends.size(), 12u) << seed;
    EXPECT_NEAR(static_cast<double>(ends[6]), 700e6, 12e6) << seed;
  }
}

// Pauses of the length of an iteration, in which nothing runs: they are no gaps of the loop.
TEST(SampledLoop, AThreadThatLosesItsCpuMakesNoIteration) {
  for (unsigned seed = 1; seed <= 20; ++seed) {
    auto samples = two_phases(12, seed);
    std::mt19937 random(seed);
    TimeNs away = 0;
    for (auto& sample : samples) {
      if (random() % 50 == 0) away += static_cast<TimeNs>(random() % 100) * kMs;
      sample.time += away;
    }
    EXPECT_EQ(iteration_ends(samples).size(), 12u) << seed;
  }
}

// One operator alone, and time in between in which nothing runs: a scheduler takes the CPU away at such a
// pace, so nothing says that it is a loop.
TEST(SampledLoop, TimeWithoutTheCpuAtAnEvenPaceIsNoLoop) {
  std::vector<OwnedSample> samples;
  for (TimeNs i = 0; i < 120; ++i) samples.push_back({(i / 10 * 100 + i % 10) * kMs, 1});
  EXPECT_TRUE(iteration_ends(samples).empty());
}

TEST(SampledLoop, SpreadSaysHowMuchIterationsDiffer) {
  auto loop_of = [](const std::vector<TimeNs>& lengths) {
    Loop loop;
    TimeNs from = 0;
    for (TimeNs length : lengths) {
      loop.iterations.push_back({loop.iterations.size() + 1, from, from + length});
      from += length;
    }
    return loop;
  };
  EXPECT_EQ(loop_of({50, 10, 10, 10, 10, 10, 10, 30}).spread(), 0);
  EXPECT_NEAR(loop_of({10, 10, 12, 10, 8, 10, 12, 10, 8, 10}).spread(), 0.2, 1e-9);
  // Two taken for one.
  EXPECT_GE(loop_of({10, 10, 20, 10, 10, 20, 10, 10, 20, 10}).spread(), 1);
  EXPECT_EQ(loop_of({10, 90, 10, 10}).spread(), 0) << "too few to say";
  EXPECT_EQ(loop_of({10, 90, 20}).median_ns(), 20);
  EXPECT_EQ(loop_of({90, 10, 30, 20}).median_ns(), 25);
  EXPECT_EQ(loop_of({}).median_ns(), 0);
}

// Twins: what is no loop must not be taken for one.
TEST(SampledLoop, OperatorsMixedAtRandomAreNoLoop) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    auto samples = two_phases(12, seed);
    std::mt19937 random(seed);
    for (auto& sample : samples) sample.owner = static_cast<ComponentId>(1 + random() % 4);
    EXPECT_TRUE(iteration_ends(samples).empty()) << seed;
  }
}

TEST(SampledLoop, OnePassOverThePipelinesIsNoLoop) {
  EXPECT_TRUE(iteration_ends({}).empty());
  EXPECT_TRUE(iteration_ends(two_phases(1, 5)).empty());
}

TEST(SampledLoop, BurstsAtNoPaceAreNoLoop) {
  std::vector<OwnedSample> samples;
  for (TimeNs start : {0, 20, 500, 530, 2600})
    for (TimeNs i = 0; i < 10; ++i) samples.push_back({(start + i) * kMs, 1});
  EXPECT_TRUE(iteration_ends(samples).empty());
}

// ---- profiles

struct Feed {
  ProfileLoader loader{[] {
    LoadOptions options;
    options.keep_samples = true;
    return options;
  }()};
  Feed() { test::give_context(loader); }

  void mark(tailor_log_kind kind, std::int32_t tid, TimeNs time, std::uint64_t a, std::uint32_t id = 0) {
    const profile::ActivityRecord record{
        test::kSampleStart + time, test::kSampleProcess, tid, kind, id, a, 0};
    loader.on_activity({&record, 1});
  }
  void sample(std::int32_t tid, TimeNs time, std::uint32_t ir,
              ExecutionHandle execution = test::kSampleExecution) {
    profile::SampleRecord record = test::ir_sample(test::kSampleStart + time, ir);
    record.tid = tid;
    record.attribution.execution = execution;
    loader.on_samples({&record, 1});
  }
};

Result<PlanReport> report_of(const Profile& profile) {
  return plan_report(profile, {});
}

// Two threads; the second is 10 ms behind. Iteration n has n samples of each thread.
Profile marked_profile(bool second_marks) {
  Feed feed;
  for (std::int32_t thread : {0, 1}) {
    const std::int32_t tid = kThread + thread;
    const TimeNs behind = thread * 10 * kMs;
    feed.mark(TAILOR_LOG_EXECUTION_BEGIN, tid, behind, test::kSampleExecution);
    for (int n = 1; n <= 5; ++n) {
      if (thread == 0 || second_marks)
        feed.mark(TAILOR_LOG_ITERATION, tid, n * 100 * kMs + behind, static_cast<std::uint64_t>(n), 2);
      for (int i = 0; i < n; ++i) feed.sample(tid, n * 100 * kMs + behind + i * kMs, 3);
    }
    feed.mark(TAILOR_LOG_EXECUTION_END, tid, 590 * kMs + behind, test::kSampleExecution);
  }
  return feed.loader.finish();
}

TEST(Iterations, EveryThreadsOwnMarksCountForIt) {
  const Profile profile = marked_profile(true);
  auto loops = find_loops(profile, {}, IterationsFrom::kBest);
  ASSERT_TRUE(loops) << loops.error().message;
  ASSERT_EQ(loops->size(), 1u);
  const Loop& loop = loops->front();
  EXPECT_TRUE(loop.marked);
  EXPECT_EQ(loop.component, 2u);
  EXPECT_EQ(loop.name, "Hash join");
  ASSERT_EQ(loop.iterations.size(), 5u);
  EXPECT_EQ(loop.iterations[1].from, test::kSampleStart + 200 * kMs);
  EXPECT_EQ(loop.iterations[1].to, test::kSampleStart + 300 * kMs);
  // At 305 ms the second thread is still in its second iteration.
  EXPECT_EQ(loop.at(kThread, test::kSampleStart + 305 * kMs)->number, 3u);
  EXPECT_EQ(loop.at(kThread + 1, test::kSampleStart + 305 * kMs)->number, 2u);
  EXPECT_EQ(loop.at(kThread, test::kSampleStart + 50 * kMs), nullptr);
  EXPECT_EQ(loop.at(kThread, test::kSampleStart + 595 * kMs), nullptr);
  const auto rows = iteration_rows(profile, {}, loop);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(rows[i].cost.samples, 2 * (i + 1));
}

TEST(Iterations, AThreadWithoutMarksFollowsTheOthers) {
  const Profile profile = marked_profile(false);
  auto loops = find_loops(profile, {}, IterationsFrom::kMarks);
  ASSERT_TRUE(loops);
  EXPECT_EQ(loops->front().at(kThread + 1, test::kSampleStart + 305 * kMs)->number, 3u);
}

TEST(Iterations, OneIsSelected) {
  const Profile profile = marked_profile(true);
  auto loops = find_loops(profile, {}, IterationsFrom::kBest);
  auto only = only_iteration(profile, *loops, 4);
  ASSERT_TRUE(only);
  EXPECT_EQ(report_of(*only)->total.samples, 8u);
  EXPECT_EQ(report_of(profile)->total.samples, 30u);
  EXPECT_NE(only->narrowed_to().find("iteration 4 of 1 to 5 of Hash join"), std::string::npos);
  auto none = only_iteration(profile, *loops, 6);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("1 to 5"), std::string::npos);
}

TEST(Iterations, APartOfTheTimeHasThoseThatLieInIt) {
  const Profile profile = marked_profile(true);
  const auto loops = find_loops(profile, {}, IterationsFrom::kBest);
  ASSERT_TRUE(loops);
  std::vector<std::uint64_t> samples(6), parts(6);
  for (const IterationRow& row : iteration_rows(profile, {}, loops->front()))
    samples[row.iteration.number] = row.cost.samples;
  const TimeNs middle = test::kSampleStart + 301 * kMs;
  for (const auto& [from, to] : {std::pair{kTimeMin, middle}, {middle, kTimeMax}}) {
    const auto inside = loops_between(*loops, from, to);
    ASSERT_TRUE(inside);
    const auto& shown = inside->front().iterations;
    EXPECT_EQ(shown.front().number, from == middle ? 3u : 1u) << "its number is that of the whole loop";
    EXPECT_EQ(shown.back().number, from == middle ? 5u : 3u);
    const auto keep = [from, to](const TimedSample& sample) {
      return sample.time >= from && sample.time < to;
    };
    for (const IterationRow& row : iteration_rows(profile, {}, inside->front(), keep))
      parts[row.iteration.number] += row.cost.samples;
  }
  EXPECT_EQ(parts, samples);
  EXPECT_FALSE(loops_between(*loops, middle + 1000 * kMs, kTimeMax));
}

TEST(Iterations, LoopsAreToldApartByName) {
  Feed feed;
  feed.mark(TAILOR_LOG_EXECUTION_BEGIN, kThread, 0, test::kSampleExecution);
  feed.mark(TAILOR_LOG_ITERATION, kThread, 1, 1, 1);
  feed.mark(TAILOR_LOG_ITERATION, kThread, 2, 1, 2);
  feed.mark(TAILOR_LOG_ITERATION, kThread, 3, 2, 2);
  const Profile profile = feed.loader.finish();
  auto loops = find_loops(profile, {}, IterationsFrom::kBest);
  ASSERT_TRUE(loops);
  EXPECT_EQ(loops->size(), 2u);
  auto unclear = choose_loops(*loops, "");
  ASSERT_FALSE(unclear);
  EXPECT_NE(unclear.error().message.find("Hash join (2)"), std::string::npos);
  EXPECT_EQ(choose_loops(*loops, "Hash join")->size(), 1u);
  EXPECT_EQ(choose_loops(*loops, "1")->front().component, 1u);
  EXPECT_FALSE(choose_loops(*loops, "Sort"));
}

TEST(Iterations, WithoutMarksTheSamplesTell) {
  Feed feed;
  for (const OwnedSample& sample : two_phases(8, 4))
    feed.sample(kThread, sample.time, sample.owner <= 2 ? 4 : 6);  // a scan, then an aggregation
  const Profile profile = feed.loader.finish();
  EXPECT_FALSE(find_loops(profile, {}, IterationsFrom::kMarks));
  auto loops = find_loops(profile, {}, IterationsFrom::kBest);
  ASSERT_TRUE(loops) << loops.error().message;
  const Loop& loop = loops->front();
  EXPECT_FALSE(loop.marked);
  ASSERT_EQ(loop.iterations.size(), 8u);
  std::uint64_t samples = 0;
  for (const IterationRow& row : iteration_rows(profile, {}, loop)) samples += row.cost.samples;
  EXPECT_EQ(samples, report_of(profile)->total.samples);
}

// The same times, as executions that follow one another: none of them has a loop, and together they are none.
TEST(Iterations, ExecutionsOneAfterTheOtherAreNoIterations) {
  Feed feed;
  for (const OwnedSample& sample : two_phases(8, 4))
    feed.sample(kThread, sample.time, sample.owner <= 2 ? 4 : 6,
                test::kSampleExecution + static_cast<ExecutionHandle>(sample.time / (100 * kMs)));
  EXPECT_FALSE(find_loops(feed.loader.finish(), {}, IterationsFrom::kBest));
}

}  // namespace
}  // namespace tailor::query
