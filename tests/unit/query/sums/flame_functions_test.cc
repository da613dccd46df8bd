#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/query/reports/flame.h"
#include "daemon/query/time/timeline.h"
#include "tests/support/called_profile.h"
#include "tests/support/profile_bytes.h"

namespace tailor::query {
namespace {

Profile called() {
  LoadOptions options;
  options.keep_samples = options.functions = true;
  return test::load(test::profile_bytes(test::give_called), options);
}

FlameReport report_of(const Profile& profile, const std::function<bool(const TimedSample&)>& keep = {},
                      const char* levels = "operator,function") {
  auto order = parse_flame_order(levels);
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

// Where a library has no symbols, its samples differ by their addresses.
TEST(FlameFunctions, AddressesAreInTheirFile) {
  const FlameReport report = report_of(called(), {}, "operator,address");
  const FlameNode& join = child(report.root, "Hash join");
  const FlameNode& address = child(join, "libx.so+0x10");
  EXPECT_DOUBLE_EQ(address.samples, 3) << "with a chain and without";
  EXPECT_EQ(address.key, "address:/nowhere/libx.so:10");
  EXPECT_EQ(address.kind, "address");
  EXPECT_EQ(join.children.size(), 1u);
  EXPECT_EQ(child(report.root, "compile").children.size(), 1u) << "outside of plans, too";
}

TEST(FlameFunctions, AddressesBelowFunctions) {
  const FlameReport report = report_of(called(), {}, "operator,function,address");
  const FlameNode& join = child(report.root, "Hash join");
  EXPECT_DOUBLE_EQ(child(child(join, "[unknown] (libx.so)"), "libx.so+0x10").samples, 1);
  EXPECT_DOUBLE_EQ(child(child(child(join, "main ([jit])"), "[unknown] (libx.so)"), "libx.so+0x10").samples,
                   2);
}

TEST(FlameFunctions, TheOrderSaysWhetherCodeIsNeeded) {
  for (const char* order : {"function", "plan,address"})
    EXPECT_TRUE(has_functions(*parse_flame_order(order)));
  EXPECT_FALSE(has_functions(default_flame_order()));
  EXPECT_EQ(default_flame_order().size(), 5u);
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
