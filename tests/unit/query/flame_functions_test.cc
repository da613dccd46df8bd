#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/query/flame.h"
#include "daemon/query/timeline.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::ElementsAre;

constexpr std::uint64_t kGenerated = 0x7f00'0000'1000, kLibrary = 0x4000'0000;

Profile called() {
  LoadOptions options;
  options.keep_samples = options.functions = true;
  return test::load(
      test::profile_bytes([](profile::ProfileSink& sink) {
        test::give_context(sink);
        sink.on_mapping({test::kSampleProcess, test::kSampleStart, kLibrary, 0x10000, 0, "/nowhere/libx.so"});
        // main > generated code > the library, by the tag of task 1, whose operator is the hash join.
        const profile::StackFrame main{nullptr, kLibrary + 0x9000};
        const profile::StackFrame generated{&main, kGenerated + 8};
        profile::SampleRecord called = test::tag_sample(test::kSampleStart + 1, 1);
        called.ip = called.user_ip = kLibrary + 16;
        called.stack = &generated;
        // Without a chain.
        profile::SampleRecord alone = test::tag_sample(test::kSampleStart + 2, 1);
        alone.ip = alone.user_ip = kLibrary + 16;
        sink.on_samples(std::vector{called, called, alone});
        sink.on_samples(std::vector{test::component_sample(test::kSampleStart + 3, 1)});
      }),
      options);
}

FlameReport report_of(const Profile& profile, const std::function<bool(const TimedSample&)>& keep = {}) {
  auto order = parse_flame_order("operator,function");
  EXPECT_TRUE(order);
  auto report = flame_report_with_functions(profile, {}, *order, keep);
  EXPECT_TRUE(report);
  return std::move(*report);
}

const FlameNode& child(const FlameNode& node, const std::string& name) {
  for (const FlameNode& each : node.children) {
    if (each.name == name) return each;
  }
  ADD_FAILURE() << "no " << name << " below " << node.name;
  static const FlameNode kNone;
  return kNone;
}

TEST(FlameFunctions, TheChainBelowTheGeneratedCode) {
  const FlameReport report = report_of(called());
  EXPECT_DOUBLE_EQ(report.root.samples, 4);
  const FlameNode& join = child(report.root, "Hash join");
  EXPECT_DOUBLE_EQ(join.samples, 3);
  const FlameNode& generated = child(join, "main ([jit])");
  EXPECT_DOUBLE_EQ(generated.samples, 2);
  EXPECT_DOUBLE_EQ(child(generated, "[unknown] (libx.so)").samples, 2);
  EXPECT_DOUBLE_EQ(child(join, "[unknown] (libx.so)").samples, 1) << "the sample without a chain";
  for (const FlameNode& each : join.children) EXPECT_EQ(each.kind, "function");
}

TEST(FlameFunctions, BelowWhatIsNoOperatorToo) {
  const FlameReport report = report_of(called());
  EXPECT_DOUBLE_EQ(child(report.root, "compile").children.size(), 1);
}

TEST(FlameFunctions, OfSomeSamples) {
  const FlameReport report =
      report_of(called(), [](const TimedSample& sample) { return sample.time == test::kSampleStart + 2; });
  EXPECT_DOUBLE_EQ(report.root.samples, 1);
}

// A timeline shows them where there is no plan.
TEST(FlameFunctions, ATimelineByFunctionHasEverySampleInItsOwnFunction) {
  const Profile profile = called();
  TimelineOptions options;
  options.buckets = 1;
  options.lanes = Lanes::kThread;
  options.by = OwnedBy::kFunction;
  const auto line = timeline(profile, {}, options);
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_DOUBLE_EQ(line->samples, 4);
  double samples = 0;
  std::vector<std::string> kinds;
  for (const TimelineSeries& each : line->lanes.front().series) {
    samples += each.samples.front();
    kinds.push_back(each.owner.kind);
  }
  EXPECT_DOUBLE_EQ(samples, 4);
  EXPECT_THAT(kinds, testing::Each("function"));
  EXPECT_EQ(line->lanes.front().series.front().samples.front(), 3) << "the library, whoever called it";
}

TEST(FlameFunctions, ATimelineByFunctionNeedsThem) {
  const Profile profile =
      test::load(test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 1); }),
                 {.keep_samples = true});
  TimelineOptions options;
  options.by = OwnedBy::kFunction;
  EXPECT_FALSE(timeline(profile, {}, options));
}

}  // namespace
}  // namespace tailor::query
