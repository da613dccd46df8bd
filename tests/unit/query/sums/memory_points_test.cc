#include "daemon/query/sums/memory_points.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

// One region after the other at the same address, with a sample in each.
Profile reused(int regions) {
  LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  return test::load(
      test::profile_bytes([regions](profile::ProfileSink& sink) {
        test::give_context(sink);
        std::vector<profile::ActivityRecord> marks;
        std::vector<profile::SampleRecord> samples;
        for (int i = 0; i < regions; ++i) {
          const TimeNs from = test::kSampleStart + 10 * i;
          marks.push_back({from, test::kSampleProcess, 4243, TAILOR_LOG_REGION_ADD, 1, 0x1000, 64});
          marks.push_back({from + 9, test::kSampleProcess, 4243, TAILOR_LOG_REGION_REMOVE, 0, 0x1000, 0});
          profile::SampleRecord sample = test::ir_sample(from + 5, 1);
          sample.address_from = profile::AddressFrom::kSample;
          sample.address = 0x1010;
          samples.push_back(sample);
        }
        sink.on_activity(marks);
        sink.on_samples(samples);
      }),
      options);
}

TEST(MemoryPoints, EachTimeAnAddressIsUsedIsARegionOfItsOwn) {
  const MemoryPoints all = memory_points(reused(1000), {}, 0, 20'000, {});
  EXPECT_EQ(all.total, 1000u);
  ASSERT_EQ(all.regions.size(), 1000u);
  for (const RegionLife& region : all.regions) EXPECT_EQ(region.samples, 1u);
}

TEST(MemoryPoints, NeverMoreThanAskedForAndTheSumHolds) {
  const Profile profile = reused(1000);
  double weight = 0;
  for (const TimedSample& sample : profile.samples()) weight += static_cast<double>(sample.weight);
  for (std::size_t most : {1u, 7u, 500u, 999u, 1000u}) {
    const MemoryPoints some = memory_points(profile, {}, 0, most, {});
    EXPECT_LE(some.time.size(), most);
    EXPECT_GE(some.time.size(), (most + 1) / 2);
    EXPECT_DOUBLE_EQ(std::accumulate(some.weight.begin(), some.weight.end(), 0.0), weight) << most;
  }
}

TEST(MemoryPoints, APointHasThePipelineOfItsTask) {
  LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  const Profile profile = test::load(test::profile_bytes([](profile::ProfileSink& sink) {
                                       test::give_context(sink);
                                       std::vector<profile::SampleRecord> samples;
                                       for (std::uint32_t ir : {1u, 5u, 0u}) {
                                         samples.push_back(test::ir_sample(test::kSampleStart + ir, ir));
                                         samples.back().address_from = profile::AddressFrom::kSample;
                                         // What the thread's log says matters only where the plan says
                                         // nothing.
                                         samples.back().attribution.pipeline = 9;
                                       }
                                       sink.on_samples(samples);
                                     }),
                                     options);
  const MemoryPoints points = memory_points(profile, {}, 0, kAllPoints, {});
  EXPECT_EQ(points.pipeline, (std::vector<std::uint32_t>{9, 1, 2}));
}

}  // namespace
}  // namespace tailor::query
