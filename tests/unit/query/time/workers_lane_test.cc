#include "daemon/query/time/workers_lane.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "daemon/query/load/profile_loader.h"
#include "daemon/query/time/timeline.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr TimeNs kMs = 1'000'000;
constexpr std::int32_t kFirst = 4243, kSecond = 4244;
constexpr std::uint16_t kCpu = 0, kOffCpu = 1;

class WorkersLaneTest : public testing::Test {
 protected:
  WorkersLaneTest() { test::give_context(loader_); }

  void recording(std::uint64_t aggregated_ns = 0) {
    profile::RecordingInfo info;
    info.start = test::kSampleStart;
    info.sources = {{kCpu, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false},
                    {kOffCpu, "off-cpu", profile::Unit::kNsOffCpu, 1, false}};
    info.aggregated_ns = aggregated_ns;
    loader_.on_recording(info);
  }
  // A sample that stands for the time from one ms to another.
  void span(std::int32_t tid, TimeNs from_ms, TimeNs to_ms, profile::Wait wait = profile::Wait::kNone) {
    profile::SampleRecord record = test::ir_sample(test::kSampleStart + to_ms * kMs, 1);
    record.tid = tid;
    record.weight = static_cast<std::uint64_t>((to_ms - from_ms) * kMs);
    record.source = wait == profile::Wait::kNone ? kCpu : kOffCpu;
    record.wait = wait;
    loader_.on_samples({&record, 1});
  }
  // In parts of 10 ms.
  std::optional<WorkersLane> lane(TimeNs to_ms, const std::function<bool(const TimedSample&)>& keep = {}) {
    return workers_lane(loader_.finish(), {}, kCpu, test::kSampleStart, test::kSampleStart + to_ms * kMs,
                        static_cast<std::uint32_t>(to_ms / 10), keep);
  }

  ProfileLoader loader_{[] {
    LoadOptions options;
    options.keep_samples = true;
    return options;
  }()};
};

void expect_near(const std::vector<double>& found, const std::vector<double>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-9) << i;
}

TEST_F(WorkersLaneTest, SaysHowManyWorkedAndWaited) {
  recording();
  span(kFirst, 0, 15);
  span(kFirst, 15, 25);
  span(kSecond, 10, 20);
  span(kSecond, 20, 40, profile::Wait::kLock);
  span(kFirst, 30, 35, profile::Wait::kRunnable);
  span(kSecond + 1, 0, 40, profile::Wait::kLock);  // a thread that never worked
  const auto found = lane(40);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->threads, 2u);
  expect_near(found->working, {1, 2, 0.5, 0});
  expect_near(found->waiting, {0, 0, 1, 1});
}

TEST_F(WorkersLaneTest, TailorsOwnAgentDoesNotWait) {
  recording();
  span(kFirst, 0, 10);
  for (const std::uint32_t component : {0xFFFF'FFFF, 7u}) {
    profile::SampleRecord wait = test::component_sample(test::kSampleStart + 30 * kMs, component);
    wait.tid = kFirst;
    wait.weight = 10'000'000;
    wait.time += component == 7 ? 0 : 10 * kMs;
    wait.source = kOffCpu;
    wait.wait = profile::Wait::kLock;
    loader_.on_samples({&wait, 1});
  }
  const auto found = lane(40);
  ASSERT_TRUE(found);
  expect_near(found->waiting, {0, 0, 1, 0});
}

// A period that the kernel made too long, and times outside of what is shown.
TEST_F(WorkersLaneTest, AThreadCountsOnceAtAMoment) {
  recording();
  span(kFirst, 0, 10);
  span(kFirst, -30, 20);
  span(kSecond, 15, 35);
  const auto found = lane(20);
  ASSERT_TRUE(found);
  expect_near(found->working, {1, 1.5});
  EXPECT_TRUE(found->waiting.empty()) << "nothing is known of it";
}

TEST_F(WorkersLaneTest, OnlyWhatIsKeptCounts) {
  recording();
  span(kFirst, 0, 20);
  span(kSecond, 0, 20);
  const auto found = lane(20, [](const TimedSample& sample) { return sample.tid == kSecond; });
  ASSERT_TRUE(found);
  EXPECT_EQ(found->threads, 1u);
  expect_near(found->working, {1, 1});
}

TEST_F(WorkersLaneTest, SumsHaveNoMoments) {
  recording(1'000'000'000);
  span(kFirst, 0, 20);
  EXPECT_FALSE(lane(20));
}

TEST_F(WorkersLaneTest, HostileTimesDoNoHarm) {
  recording();
  for (const TimeNs time : {kTimeMin, TimeNs{-1}, TimeNs{0}, kTimeMax}) {
    profile::SampleRecord record = test::ir_sample(5, 1);
    record.time = time;
    record.weight = UINT64_MAX;
    loader_.on_samples({&record, 1});
  }
  const Profile profile = loader_.finish();
  for (const std::uint32_t buckets : {1u, kMaxBuckets}) {
    const auto found = workers_lane(profile, {}, kCpu, kTimeMin, kTimeMax, buckets, {});
    ASSERT_TRUE(found);
    for (const double each : found->working) {
      EXPECT_GE(each, 0);
      EXPECT_LE(each, 1 + 1e-9);
    }
  }
  EXPECT_FALSE(workers_lane(profile, {}, kCpu, 7, 7, 10, {}));
}

TEST_F(WorkersLaneTest, TimelinesHaveIt) {
  recording();
  span(kFirst, 0, 20);
  span(kSecond, 0, 20);
  TimelineOptions options;
  options.buckets = 2;
  options.from = test::kSampleStart;
  options.to = test::kSampleStart + 40 * kMs;
  const auto line = timeline(loader_.finish(), {}, options);
  ASSERT_TRUE(line) << line.error().message;
  ASSERT_TRUE(line->workers);
  EXPECT_EQ(line->workers->threads, 2u);
  expect_near(line->workers->working, {2, 0});
}

TEST_F(WorkersLaneTest, ASampleBehindATimelineStandsForTimeInIt) {
  recording();
  span(kFirst, 0, 30);
  span(kSecond, 0, 10);
  const Profile profile = loader_.finish();
  TimelineOptions options;
  options.buckets = 2;
  options.from = test::kSampleStart;
  options.to = test::kSampleStart + 20 * kMs;
  options.keep = [to = options.to](const TimedSample& sample) { return sample.time < to; };
  const auto line = timeline(profile, {}, options);
  ASSERT_TRUE(line && line->workers);
  EXPECT_EQ(line->samples, 1);
  EXPECT_EQ(line->workers->threads, 2u);
  expect_near(line->workers->working, {2, 1});
  // The twin: without such samples a thread that works seems to rest.
  options.keep_of_any_time = options.keep;
  const auto without = timeline(profile, {}, options);
  ASSERT_TRUE(without && without->workers);
  EXPECT_EQ(without->workers->threads, 1u);
  expect_near(without->workers->working, {1, 0});
}

}  // namespace
}  // namespace tailor::query
