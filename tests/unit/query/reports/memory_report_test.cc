#include "daemon/query/reports/memory_report.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include "daemon/query/reports/plan_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

profile::SampleRecord access(TimeNs time, std::uint32_t ir, profile::AddressFrom from, std::uint32_t region,
                             std::uint8_t skid) {
  profile::SampleRecord sample = test::ir_sample(time, ir);
  sample.address_from = from;
  sample.region = region;
  sample.skid = skid;
  return sample;
}

Profile profile_with(const std::vector<profile::SampleRecord>& samples) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::RegionKind kind;
    kind.set_id(5);
    kind.set_name("hash table");
    sink.on_region_kind(test::kSampleProcess, kind);
    sink.on_samples(samples);
  });
}

// IR 6 is of operator 1, IR 1 of operator 4.
TEST(MemoryReport, SumsByOperatorAndRegion) {
  const TimeNs t = test::kSampleStart;
  const auto none = profile::AddressFrom::kNone, operand = profile::AddressFrom::kOperand;
  const Profile profile =
      profile_with({access(t, 6, operand, 5, 1), access(t, 6, operand, 5, 0), access(t, 6, operand, 0, 3),
                    access(t, 1, operand, 5, 1), access(t, 6, none, 0, 0)});
  auto report = memory_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.samples, 5u);
  EXPECT_EQ(report->generated_samples, 5);
  EXPECT_EQ(report->decoded, 4);
  EXPECT_EQ(report->recorded, 0);
  EXPECT_EQ(report->in_regions, 3);
  EXPECT_EQ(report->in_mappings, 0);
  EXPECT_EQ(report->lost, 1);
  EXPECT_EQ(report->by_skid[0], 1);
  EXPECT_EQ(report->by_skid[1], 2);
  EXPECT_EQ(report->by_skid[3], 1);
  ASSERT_EQ(report->rows.size(), 3u);
  EXPECT_EQ(report->rows[0].operator_id, 1u);
  EXPECT_EQ(report->rows[0].region_name, "hash table");
  EXPECT_EQ(report->rows[0].cost.amount.samples, 2);
  EXPECT_DOUBLE_EQ(report->rows[0].cost.share, 0.4);
}

TEST(MemoryReport, MemoryKnownByItsMappingIsApartFromRegisteredMemory) {
  const TimeNs t = test::kSampleStart;
  const auto operand = profile::AddressFrom::kOperand;
  const std::uint32_t stack = profile::kFirstMappedRegion;
  const Profile profile = profile_with({access(t, 6, operand, 5, 1), access(t, 6, operand, stack, 1)});
  auto report = memory_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->in_regions, 1);
  EXPECT_EQ(report->in_mappings, 1);
  EXPECT_EQ(report->lost, 0);
}

TEST(MemoryReport, LatencyAndTheMemoryThatServed) {
  const TimeNs t = test::kSampleStart;
  perf_mem_data_src ram{};
  ram.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
  auto slow = access(t, 6, profile::AddressFrom::kSample, 5, 0), fast = slow;
  slow.latency = 300;
  slow.data_source = ram.val;
  fast.latency = 100;
  auto report = memory_report(profile_with({slow, fast}), {});
  ASSERT_TRUE(report);
  ASSERT_EQ(report->rows.size(), 1u);
  EXPECT_DOUBLE_EQ(report->rows[0].latency, 200);
  EXPECT_EQ(report->rows[0].served_by[static_cast<std::size_t>(MemoryLevel::kRam)], 1);
  EXPECT_EQ(report->recorded, 2);
}

// Of 20 executions every second one is drawn, and has ten accesses: of operator 1, or of operator 4 where
// `differ`, and then every second of those that are drawn.
Profile profile_of_half(bool differ) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    std::vector<profile::SampleRecord> samples;
    for (ExecutionHandle handle = 100; handle < 120; ++handle) {
      profile::ExecutionRecord execution;
      execution.process = test::kSampleProcess;
      execution.handle = handle;
      execution.id.bytes.fill(static_cast<std::uint8_t>(handle));
      execution.plan = test::kSamplePlan;
      execution.begin = test::kSampleStart;
      execution.end = execution.begin + 1000;
      execution.drawn = handle % 2 == 0;
      sink.on_execution(execution);
      for (int i = 0; execution.drawn && i < 10; ++i) {
        const bool of_first = differ ? handle % 4 == 0 : i % 2 == 0;
        samples.push_back(
            access(test::kSampleStart + i, of_first ? 6 : 1, profile::AddressFrom::kOperand, 0, 0));
        samples.back().attribution.execution = handle;
      }
    }
    sink.on_samples(samples);
  });
}

double width(const Interval& interval) {
  return interval.high - interval.low;
}

// Samples of one execution are alike: ten executions tell less than their hundred samples.
TEST(MemoryReport, OfAShareOfTheExecutionsIntervalsFollowFromExecutions) {
  const Interval by_samples = wilson(0.5, 100);
  const Profile profile = profile_of_half(true);
  auto differ = memory_report(profile, {});
  ASSERT_TRUE(differ) << differ.error().message;
  ASSERT_EQ(differ->rows.size(), 2u);
  EXPECT_EQ(differ->total.samples, 100u);
  const auto report = plan_report(profile, {});
  ASSERT_TRUE(report);
  for (const MemoryRow& row : differ->rows) {
    EXPECT_DOUBLE_EQ(row.cost.share, 0.5);
    EXPECT_GT(width(row.cost.interval), 1.8 * width(by_samples));
    EXPECT_NEAR(width(row.cost.interval), width(wilson(0.5, report->effective_samples)), 1e-6);
  }
  // Executions that cost the same in each row say as much as their samples, and no more.
  auto alike = memory_report(profile_of_half(false), {});
  ASSERT_TRUE(alike);
  ASSERT_EQ(alike->rows.size(), 2u);
  EXPECT_GE(width(alike->rows[0].cost.interval), width(by_samples) - 1e-9);
  EXPECT_LT(width(alike->rows[0].cost.interval), width(differ->rows[0].cost.interval));
}

TEST(MemoryReport, OfExecutionsThatAreAllDrawnSamplesCount) {
  Selection drawn;
  for (ExecutionHandle handle = 100; handle < 120; handle += 2)
    drawn.executions.insert({test::kSampleProcess, handle});
  auto report = memory_report(profile_of_half(true), drawn);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->rows.size(), 2u);
  EXPECT_NEAR(width(report->rows[0].cost.interval), width(wilson(0.5, 100)), 1e-9);
}

TEST(MemoryReport, OneExecutionOfSeveralTellsNoShare) {
  const ProcessId process = test::kSampleProcess;
  Selection two;
  two.executions = {{process, 100}, {process, 101}};
  auto report = memory_report(profile_of_half(false), two);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->rows.size(), 2u);
  EXPECT_EQ(report->rows[0].cost.interval.low, 0);
  EXPECT_EQ(report->rows[0].cost.interval.high, 1);
}

TEST(MemoryReport, SaysWhatIsMissingWithoutAddresses) {
  auto report = memory_report(profile_with({test::ir_sample(test::kSampleStart, 6)}), {});
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("--memory"), std::string::npos);
}

TEST(MemoryLevels, FromBothWaysOfSayingThem) {
  perf_mem_data_src old{};
  old.mem_lvl_num = PERF_MEM_LVLNUM_NA;
  old.mem_lvl = PERF_MEM_LVL_HIT | PERF_MEM_LVL_L2;
  EXPECT_EQ(memory_level(old.val), MemoryLevel::kL2);
  perf_mem_data_src remote{};
  remote.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
  remote.mem_remote = 1;
  EXPECT_EQ(memory_level(remote.val), MemoryLevel::kRemote);
  EXPECT_EQ(memory_level(0), MemoryLevel::kUnknown);
}

// The lane beside the shares: never part of them.
TEST(WaitLane, IsByOperatorAndApart) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    profile::RecordingInfo info;
    info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false},
                    {1, "off-cpu", profile::Unit::kNsOffCpu, 1, false}};
    info.wait_names = {"IO:DataFileRead", "Lock:tuple"};
    sink.on_recording(info);
    std::vector<profile::SampleRecord> samples = {test::ir_sample(test::kSampleStart, 6)};
    for (const auto& [ir, wait, event, ns] : {std::tuple{6u, profile::Wait::kLock, 2u, 600u},
                                              {6u, profile::Wait::kLock, 0u, 100u},
                                              {6u, profile::Wait::kRunnable, 0u, 300u},
                                              {1u, profile::Wait::kPeer, 7u, 50u}}) {
      samples.push_back(test::ir_sample(test::kSampleStart + 1, ir));
      samples.back().source = 1;
      samples.back().wait = wait;
      samples.back().engine_wait = event;
      samples.back().weight = ns;
    }
    sink.on_samples(samples);
  });
  auto report = plan_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->total.samples, 1u);
  ASSERT_TRUE(report->off_cpu);
  EXPECT_EQ(report->off_cpu->total.ns, 1050);
  ASSERT_EQ(report->off_cpu->rows.size(), 2u);
  EXPECT_EQ(report->off_cpu->rows[0].operator_id, 1u);
  EXPECT_EQ(report->off_cpu->rows[0].ns, 1000);
  EXPECT_EQ(report->off_cpu->rows[0].ns_of[static_cast<std::size_t>(profile::Wait::kRunnable)], 300);
  EXPECT_EQ(report->off_cpu->rows[0].ns_of[static_cast<std::size_t>(profile::Wait::kLock)], 700);
  using Events = std::map<std::string, double>;
  EXPECT_EQ(report->off_cpu->rows[0].ns_of_event, (Events{{"Lock:tuple", 600}}));
  EXPECT_EQ(report->off_cpu->rows[0].ns_without_event[static_cast<std::size_t>(profile::Wait::kLock)], 100);
  EXPECT_EQ(report->off_cpu->rows[1].ns_of_event, (Events{{"wait 7", 50}})) << "a name that is not there";
}

}  // namespace
}  // namespace tailor::query
