// Executions that run at once do not mix, code memory is reused, and memory stays bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

class IsolationTest : public PipelineTest {
 protected:
  // The executions named by samples of the process and thread.
  std::set<ExecutionHandle> executions(ProcessId process, std::int32_t tid) const {
    std::set<ExecutionHandle> found;
    for (const auto& sample : sink.samples_of(process, tid)) found.insert(sample.attribution.execution);
    return found;
  }
};

TEST_F(IsolationTest, OfTheSameCodeInOneProcess) {
  start_engine();
  script.work(kProcess, 101, ms(1), ms(50), 5, 1);
  script.work(kProcess, 102, ms(1), ms(50), 6, 1);
  for (int i = 0; i < 40; ++i) {
    script.sample(42, 101, ms(2 + i), kCode + 16);
    script.sample(42, 102, ms(2 + i), kCode + 16);
  }
  script.read();
  pipeline.flush(ms(60));
  EXPECT_EQ(executions(kProcess, 101), std::set<ExecutionHandle>{5});
  EXPECT_EQ(executions(kProcess, 102), std::set<ExecutionHandle>{6});
}

TEST_F(IsolationTest, OnOneThreadOneAfterTheOther) {
  start_engine();
  script.work(kProcess, 101, ms(1), ms(10), 5, 1);
  script.work(kProcess, 101, ms(10), ms(20), 6, 1);
  for (int i = 1; i < 20; ++i) script.sample(42, 101, ms(i), kCode + 16);
  script.read();
  pipeline.flush(ms(60));
  for (const auto& sample : sink.samples) {
    EXPECT_EQ(sample.attribution.execution, sample.time < ms(10) ? 5u : 6u);
  }
}

// The same handles, plan numbers, slots and addresses mean other things in another process.
TEST_F(IsolationTest, InTwoProcesses) {
  start_engine(kProcess, 1);
  start_engine(kOther, 2);
  script.unload_code(kOther, ms(1), 11);
  script.load(kOther, ms(1), test::small_plan(2, 2));
  script.load(kOther, ms(1), test::small_code(21, 2, kCode));
  script.work(kProcess, 101, ms(1), ms(50), 5, 1);
  script.work(kOther, 102, ms(1), ms(50), 5, 2);
  for (int i = 0; i < 40; ++i) {
    script.sample(42, 101, ms(2 + i), kCode + 16);
    script.sample(43, 102, ms(2 + i), kCode + 24);
  }
  script.read();
  pipeline.flush(ms(60));
  for (const auto& sample : sink.samples_of(kProcess)) EXPECT_EQ(sample.attribution.plan, 1u);
  for (const auto& sample : sink.samples_of(kOther)) EXPECT_EQ(sample.attribution.plan, 2u);
  EXPECT_EQ(sink.samples_of(kProcess).size(), 40u);
  EXPECT_EQ(sink.samples_of(kOther).size(), 40u);
}

// One piece of memory serves a hundred queries, each for one millisecond; samples and words arrive long
// after.
TEST_F(IsolationTest, AReusedAddressGoesToTheRightQuery) {
  script.hello(kProcess, 1, 0);
  for (std::uint64_t query = 1; query <= 100; ++query) {
    const auto start = ms(static_cast<std::int64_t>(query));
    script.load(kProcess, start, test::small_plan(query, query % 4, query / 4 % 16));
    script.load(kProcess, start + us(10), test::small_code(query, query, kCode));
    script.work(kProcess, 101, start + us(100), start + us(800), query + 1000, query);
    script.unload_code(kProcess, start + us(900), query);
    script.unload_plan(kProcess, start + us(900), query);
    for (int i = 0; i < 8; ++i) script.sample(42, 101, start + us(100 + i * 100 - i), kCode + 16);
  }
  script.settle(kProcess, ms(200));
  script.read();
  EXPECT_TRUE(sink.samples.empty());
  pipeline.advance(ms(400));
  ASSERT_EQ(sink.samples.size(), 800u);
  for (const auto& sample : sink.samples) {
    const auto query = static_cast<std::uint64_t>(sample.time / ms(1));
    EXPECT_EQ(sample.attribution.code, query);
    EXPECT_EQ(sample.attribution.execution, query + 1000);
  }
}

TEST_F(IsolationTest, CodeUnloadedWhileItsSamplesAreInFlightStillGetsThem) {
  start_engine();
  script.sample(42, 101, ms(5), kCode + 16);
  script.sample(42, 101, ms(7), kCode + 16);
  script.unload_code(kProcess, ms(6), 11);
  script.settle(kProcess, ms(100));
  pipeline.advance(ms(100));
  script.read();
  pipeline.advance(ms(300));
  ASSERT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(sink.samples[0].attribution.code, 11u);
  EXPECT_EQ(sink.samples[1].attribution.how, profile::How::kUnattributed);
}

TEST_F(IsolationTest, MemoryStaysBoundedOverManyQueriesAndProcesses) {
  std::size_t most_bytes = 0, most_processes = 0, most_pending = 0;
  for (std::int32_t n = 0; n < 2000; ++n) {
    const TimeNs start = ms(n * 10);
    const ProcessId process{100 + n % 50, static_cast<std::uint64_t>(n)};
    script.hello(process, static_cast<std::uint64_t>(n + 1), start, "s" + std::to_string(n));
    script.load(process, start + us(1), test::small_plan(1));
    script.load(process, start + us(1), test::small_code(1, 1, kCode));
    script.begin(process, start + us(2), 1, 1);
    script.work(process, process.pid, start + us(3), start + us(900), 1, 1);
    for (int i = 0; i < 10; ++i) script.sample(process.pid, process.pid, start + us(10 + i), kCode + 16);
    script.settle(process, start + ms(5));
    script.read(start + ms(9));
    pipeline.advance(start + ms(9));
    script.gone(process, registration::GoneReason::kProcessExit);
    most_processes = std::max(most_processes, pipeline.stats().processes);
    most_pending = std::max(most_pending, pipeline.stats().pending);
    std::size_t bytes = 0;
    pipeline.processes().for_each([&](const ProcessEntry& entry) { bytes += entry.state.bytes(); });
    most_bytes = std::max(most_bytes, bytes);
  }
  pipeline.flush(ms(30000));
  EXPECT_EQ(sink.samples.size(), 20000u);
  EXPECT_LE(most_processes, 25u);
  EXPECT_LE(most_pending, 300u);
  EXPECT_LE(most_bytes, 25u * 1024);
  EXPECT_TRUE(std::all_of(sink.samples.begin(), sink.samples.end(),
                          [](const auto& sample) { return sample.attribution.execution == 1; }));
}

}  // namespace
}  // namespace tailor::pipeline
