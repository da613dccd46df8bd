// Executions without a sample: what becomes a part of a sum, and what stays as it is.
#include "daemon/store/unsampled_executions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/leader.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

constexpr ProcessId kEngineProcess{42, 7};
constexpr TimeNs kMs = 1'000'000;
// Whatever was held back of that time is decided by then.
constexpr TimeNs kDecides = UnsampledExecutions::kLongest + UnsampledExecutions::kGrace + kMs;

profile::ExecutionRecord begun(ExecutionHandle handle, TimeNs begin, PlanId plan = 1) {
  profile::ExecutionRecord record;
  record.process = kEngineProcess;
  record.handle = handle;
  record.id.bytes[0] = static_cast<std::uint8_t>(handle);
  record.id.bytes[1] = static_cast<std::uint8_t>(handle >> 8);
  record.plan = plan;
  record.begin = begin;
  record.wall_begin_ns = static_cast<std::uint64_t>(begin) + 1'000;
  record.labels = {{"query", "select 1"}, {"trace_id", std::to_string(handle)}};
  return record;
}

profile::ExecutionRecord ended(profile::ExecutionRecord record, TimeNs end, std::uint64_t rows = 1) {
  record.end = end;
  record.rows = rows;
  return record;
}

profile::SampleRecord sample_of(ExecutionHandle execution, TimeNs time) {
  profile::SampleRecord sample;
  sample.time = time;
  sample.process = kEngineProcess;
  sample.attribution.execution = execution;
  return sample;
}

class UnsampledTest : public testing::Test {
 protected:
  void run(ExecutionHandle handle, TimeNs begin, TimeNs took, PlanId plan = 1) {
    const profile::ExecutionRecord record = begun(handle, begin, plan);
    executions_.execution(record);
    executions_.execution(ended(record, begin + took));
  }
  void sample(ExecutionHandle handle, TimeNs time) {
    const profile::SampleRecord one = sample_of(handle, time);
    executions_.samples({&one, 1});
  }
  void end_all(TimeNs now) {
    executions_.watermark(now + kDecides);
    executions_.give_sums();
  }
  // The record of that handle that was given last.
  const profile::ExecutionRecord* last_of(ExecutionHandle handle) const {
    const auto at = std::find_if(given_.rbegin(), given_.rend(),
                                 [&](const profile::ExecutionRecord& each) { return each.handle == handle; });
    return at == given_.rend() ? nullptr : &*at;
  }

  std::vector<profile::ExecutionRecord> given_;
  UnsampledExecutions executions_{
      [this](const profile::ExecutionRecord& record) { given_.push_back(record); }};
};

TEST_F(UnsampledTest, WhatNoSampleNamesBecomesOneRecord) {
  run(1, 100 * kMs, 2 * kMs);
  run(2, 110 * kMs, 4 * kMs);
  run(3, 120 * kMs, 6 * kMs);
  run(4, 130 * kMs, 6 * kMs, 2);  // another plan
  EXPECT_TRUE(given_.empty());
  end_all(140 * kMs);
  ASSERT_EQ(given_.size(), 2u);
  const profile::ExecutionRecord* sum = last_of(1);
  ASSERT_NE(sum, nullptr);
  ASSERT_NE(sum->added, nullptr);
  EXPECT_EQ(sum->added->runs, 3u);
  EXPECT_EQ(sum->added->failed, 0u);
  EXPECT_EQ(sum->added->elapsed_sum, static_cast<std::uint64_t>(12 * kMs));
  EXPECT_EQ(sum->added->elapsed_min, static_cast<std::uint64_t>(2 * kMs));
  EXPECT_EQ(sum->added->elapsed_max, static_cast<std::uint64_t>(6 * kMs));
  EXPECT_EQ(sum->begin, 100 * kMs);
  EXPECT_EQ(sum->end, 126 * kMs);
  EXPECT_EQ(sum->wall_begin_ns, static_cast<std::uint64_t>(100 * kMs) + 1'000);
  EXPECT_EQ(sum->rows, 3u);
  EXPECT_EQ(sum->labels, (std::vector<std::pair<std::string, std::string>>{{"query", "select 1"}}));
  v1::AddedRuns said;
  profile::encode_added_runs(*sum->added, said);
  EXPECT_TRUE(profile::decode_added_runs(said).ok()) << "a reader believes it";
  const profile::ExecutionRecord* alone = last_of(4);
  ASSERT_NE(alone, nullptr);
  EXPECT_EQ(alone->added, nullptr);
  EXPECT_EQ(alone->labels.size(), 2u) << "one alone stays as it was";
}

TEST_F(UnsampledTest, WhatASampleNamesIsGivenBeforeIt) {
  run(1, 100 * kMs, 2 * kMs);
  executions_.execution(begun(2, 100 * kMs));
  sample(1, 101 * kMs);
  sample(2, 101 * kMs);
  sample(0, 101 * kMs);
  ASSERT_EQ(given_.size(), 2u);
  EXPECT_EQ(given_[0].end, 102 * kMs);
  EXPECT_EQ(given_[1].end, kTimeMax);
  executions_.execution(ended(begun(2, 100 * kMs), 900 * kMs));
  ASSERT_EQ(given_.size(), 3u) << "and so is its end";
  end_all(900 * kMs);
  EXPECT_EQ(given_.size(), 3u);
}

TEST_F(UnsampledTest, WhatRunsForLongIsGivenWhileItRuns) {
  executions_.execution(begun(1, 0));
  executions_.watermark(UnsampledExecutions::kLongest);
  EXPECT_TRUE(given_.empty());
  executions_.watermark(UnsampledExecutions::kLongest + 1);
  ASSERT_EQ(given_.size(), 1u);
  // Its end was heard of before the watermark came there.
  run(2, 5'000 * kMs, UnsampledExecutions::kLongest + kMs);
  end_all(7'000 * kMs);
  ASSERT_EQ(given_.size(), 2u);
  EXPECT_EQ(given_[1].handle, 2u);
  EXPECT_EQ(given_[1].added, nullptr);
}

TEST_F(UnsampledTest, WhatIsMoreThanAShortRunStaysAsItIs) {
  const auto give = [&](ExecutionHandle handle, auto change) {
    profile::ExecutionRecord record = begun(handle, 100 * kMs);
    change(record);
    executions_.execution(record);
    executions_.execution(ended(record, 101 * kMs));
  };
  profile::ExecutionRecord failed = begun(1, 100 * kMs);
  executions_.execution(failed);
  failed.error = "division by zero";
  executions_.execution(ended(failed, 101 * kMs));
  give(2, [](profile::ExecutionRecord& each) { each.drawn = false; });
  give(3, [](profile::ExecutionRecord& each) { each.tags_off = true; });
  give(4, [](profile::ExecutionRecord& each) {
    each.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  });
  give(5, [](profile::ExecutionRecord& each) {
    profile::Blockers blockers;
    blockers.seen = {{{43, 7}, {}, 100 * kMs, 101 * kMs}};
    each.blockers = std::make_shared<const profile::Blockers>(std::move(blockers));
  });
  end_all(200 * kMs);
  for (ExecutionHandle handle = 1; handle <= 5; ++handle) {
    ASSERT_NE(last_of(handle), nullptr) << handle;
    EXPECT_EQ(last_of(handle)->end, 101 * kMs) << handle;
    EXPECT_EQ(last_of(handle)->added, nullptr) << handle;
  }
  EXPECT_NE(last_of(5)->blockers, nullptr);
}

// A list names the holder of the lock while the execution waits.
TEST_F(UnsampledTest, WhatWasHeldUpIsGivenAtOnce) {
  profile::ExecutionRecord record = begun(1, 100 * kMs);
  executions_.execution(record);
  EXPECT_TRUE(given_.empty());
  record.blockers = std::make_shared<const profile::Blockers>();
  executions_.execution(record);
  ASSERT_EQ(given_.size(), 1u);
  EXPECT_EQ(executions_.held_back(), 0u);
  record.blockers = nullptr;
  executions_.execution(ended(record, 101 * kMs));
  ASSERT_EQ(given_.size(), 2u) << "and its end, too";
  EXPECT_EQ(given_[1].end, 101 * kMs);
}

std::string digits_of(const ExecutionId& id) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : id.bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// A report shows workers as a part of their leader.
TEST_F(UnsampledTest, ALeaderOfWorkersStaysAsItIs) {
  executions_.execution(begun(1, 100 * kMs));
  profile::ExecutionRecord worker = begun(2, 101 * kMs);
  worker.labels.emplace_back(profile::kLeaderLabel, digits_of(begun(1, 0).id));
  executions_.execution(worker);
  ASSERT_EQ(given_.size(), 2u);
  EXPECT_EQ(given_[0].handle, 1u);
  EXPECT_EQ(given_[1].handle, 2u);
}

// Processes are heard in any order.
TEST_F(UnsampledTest, ALeaderThatIsHeardOfBehindItsWorkerStaysAsItIs) {
  profile::ExecutionRecord worker = begun(2, 101 * kMs);
  worker.labels.emplace_back(profile::kLeaderLabel, digits_of(begun(1, 0).id));
  executions_.execution(worker);
  run(1, 100 * kMs, 5 * kMs);
  run(3, 100 * kMs, 5 * kMs);
  end_all(200 * kMs);
  ASSERT_NE(last_of(1), nullptr);
  EXPECT_EQ(last_of(1)->added, nullptr);
  EXPECT_EQ(last_of(1)->labels.size(), 2u);
  // Which executions were named is forgotten after two intervals.
  for (const TimeNs interval : {2, 4}) executions_.watermark(interval * UnsampledExecutions::kInterval);
  executions_.execution(begun(1, 5 * UnsampledExecutions::kInterval));
  EXPECT_EQ(executions_.held_back(), 1u);
}

// A report shows who held the lock, and what the holder ran.
TEST_F(UnsampledTest, WhoWaitedForALockAndWhoHeldItStayAsTheyAre) {
  for (ExecutionHandle handle = 1; handle <= 4; ++handle) executions_.execution(begun(handle, 100 * kMs));
  profile::ExecutionRecord waits = begun(1, 100 * kMs);
  profile::Blockers blockers;
  blockers.seen.push_back({kEngineProcess, begun(2, 0).id, 101 * kMs, 102 * kMs});
  blockers.seen.push_back({kEngineProcess, {}, 101 * kMs, 102 * kMs});
  waits.blockers = std::make_shared<const profile::Blockers>(blockers);
  executions_.execution(waits);
  ASSERT_EQ(given_.size(), 2u) << "the holder, and who waits for it";
  EXPECT_EQ(given_[0].handle, 2u);
  EXPECT_EQ(given_[1].handle, 1u);
  // It has its row already, and another one holds the lock.
  blockers.seen.push_back({kEngineProcess, begun(3, 0).id, 102 * kMs, 103 * kMs});
  waits.blockers = std::make_shared<const profile::Blockers>(blockers);
  executions_.execution(waits);
  ASSERT_EQ(given_.size(), 4u);
  EXPECT_EQ(given_[2].handle, 3u);
  EXPECT_EQ(given_[3].blockers->seen.size(), 3u);
  EXPECT_EQ(executions_.held_back(), 1u);
}

// A report looks for its samples by its begin and its end.
TEST_F(UnsampledTest, WhatIsToldLateStaysAsItIs) {
  profile::ExecutionRecord late = begun(1, 100 * kMs);
  late.heard = late.begin + UnsampledExecutions::kToldLate;
  executions_.execution(late);
  EXPECT_EQ(given_.size(), 1u);
  profile::ExecutionRecord soon = begun(2, 100 * kMs);
  soon.heard = soon.begin + UnsampledExecutions::kToldLate - 1;
  executions_.execution(soon);
  EXPECT_EQ(given_.size(), 1u);
}

// The one that began first may end last.
TEST_F(UnsampledTest, ASumIsThatOfTheExecutionThatBeganFirst) {
  for (const auto& [handle, begin, took] : {std::tuple<ExecutionHandle, TimeNs, TimeNs>{1, 100, 900},
                                            std::tuple<ExecutionHandle, TimeNs, TimeNs>{2, 200, 5}}) {
    profile::ExecutionRecord record = begun(handle, begin * kMs);
    record.heard = record.begin + kMs;
    executions_.execution(record);
    executions_.execution(ended(record, record.begin + took * kMs));
  }
  for (TimeNs now = 200; now < 2'300; now += 50) executions_.watermark(now * kMs);
  executions_.give_sums();
  ASSERT_EQ(given_.size(), 1u);
  EXPECT_EQ(given_[0].handle, 1u);
  EXPECT_EQ(given_[0].begin, 100 * kMs);
  EXPECT_EQ(given_[0].end, 1'000 * kMs);
  EXPECT_EQ(given_[0].heard, 101 * kMs);
  EXPECT_EQ(profile::runs_of(given_[0]), 2u);
}

TEST_F(UnsampledTest, TheEndGivesAllThatIsLeft) {
  run(1, 100 * kMs, 2 * kMs);
  run(2, 100 * kMs, 2 * kMs);
  executions_.execution(begun(3, 100 * kMs));
  executions_.end();
  EXPECT_EQ(executions_.held_back(), 0u);
  ASSERT_EQ(given_.size(), 2u);
  EXPECT_EQ(profile::runs_of(*last_of(1)), 2u);
  EXPECT_EQ(last_of(3)->end, kTimeMax);
}

TEST_F(UnsampledTest, WhatIsHeldBackIsBounded) {
  const std::size_t more = 10;
  for (std::size_t i = 1; i <= UnsampledExecutions::kMostHeld + more; ++i)
    executions_.execution(begun(i, 100 * kMs));
  EXPECT_EQ(executions_.held_back(), UnsampledExecutions::kMostHeld);
  EXPECT_EQ(given_.size(), more);
}

// Executions, samples and a watermark in any order that a pipeline may have. `knows_samples`: false is a
// broken twin, whose samples nobody looks at.
struct Counted {
  std::uint64_t executions = 0, runs = 0, unknown_samples = 0;
};

Counted at_random(std::uint32_t seed, bool knows_samples) {
  std::mt19937 random(seed);
  Counted outcome;
  std::map<ExecutionHandle, profile::ExecutionRecord> given;
  UnsampledExecutions executions(
      [&](const profile::ExecutionRecord& record) { given[record.handle] = record; });
  std::vector<profile::SampleRecord> samples;
  TimeNs now = 0;
  for (ExecutionHandle handle = 1; handle <= 2'000; ++handle) {
    now += static_cast<TimeNs>(random() % 20) * kMs;
    const TimeNs took = static_cast<TimeNs>(random() % 1'500) * kMs / static_cast<TimeNs>(1 + random() % 50);
    const profile::ExecutionRecord record = begun(handle, now, 1 + random() % 3);
    executions.execution(record);
    executions.execution(ended(record, now + took));
    ++outcome.executions;
    if (random() % 4 == 0) samples.push_back(sample_of(handle, now + took / 2));
    // Samples come in the order of time, up to the watermark.
    const TimeNs watermark = now - 50 * kMs;
    std::ranges::sort(samples, {}, &profile::SampleRecord::time);
    const auto rest = std::ranges::find_if(samples, [&](const auto& each) { return each.time >= watermark; });
    const std::vector<profile::SampleRecord> due(samples.begin(), rest);
    samples.erase(samples.begin(), rest);
    if (knows_samples) executions.samples(due);
    executions.watermark(watermark);
    for (const profile::SampleRecord& each : due) {
      const auto known = given.find(each.attribution.execution);
      outcome.unknown_samples += known == given.end() || known->second.added != nullptr;
    }
  }
  executions.end();
  for (const auto& [handle, record] : given) outcome.runs += profile::runs_of(record);
  return outcome;
}

TEST(UnsampledExecutions, EachRunCountsOnceAndEachSampleHasItsExecution) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const Counted outcome = at_random(seed, true);
    EXPECT_EQ(outcome.runs, outcome.executions) << seed;
    EXPECT_EQ(outcome.unknown_samples, 0u) << seed;
    EXPECT_GT(at_random(seed, false).unknown_samples, 0u) << "a twin that does not look at samples";
  }
}

// The same through a store.
TEST_F(StoreTest, AStoreHasOneRowForExecutionsThatNoSampleNames) {
  StoreOptions options;
  options.sum_unsampled = true;
  auto writer = open(options);
  ASSERT_NE(writer, nullptr);
  profile::RecordingInfo info;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  writer->on_recording(info);
  profile::ProcessRecord process;
  process.process = kEngineProcess;
  process.comm = "engine";
  writer->on_process(process);
  for (ExecutionHandle handle = 1; handle <= 20; ++handle) {
    const profile::ExecutionRecord record = begun(handle, static_cast<TimeNs>(handle) * kMs);
    writer->on_execution(record);
    writer->on_execution(ended(record, record.begin + kMs / 2));
  }
  const std::vector<profile::SampleRecord> one{sample_of(7, 7 * kMs)};
  writer->on_samples(one);
  writer->on_watermark(30 * kMs);
  writer->on_watermark(30 * kMs + kDecides);
  EXPECT_TRUE(writer->finish().ok());
  const Read back = read(writer->recording());
  EXPECT_EQ(back.executions.size(), 2u) << "the one that a sample names, and the sum of the others";
}

}  // namespace
}  // namespace tailor::store
