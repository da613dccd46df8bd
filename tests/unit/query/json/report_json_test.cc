// What JSON says of reports whose figures are known.
#include "daemon/query/json/report_json.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "daemon/query/reports/function_report.h"
#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/plan_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/walked_stacks.h"

namespace tailor::query {
namespace {

// One round of give_profile is 16 samples.
class PlanReportJson : public testing::Test {
 protected:
  static LoadOptions with_samples() {
    LoadOptions options;
    options.keep_samples = true;
    return options;
  }

  Json json_for(const Profile& profile, const Selection& selection = {}) {
    const auto report = plan_report(profile, selection);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return Json::parse(to_json(profile, *report));
  }

  Profile profile_ = test::load(
      test::profile_bytes([](profile::ProfileSink& sink) { test::give_profile(sink, 1); }), with_samples());
};

TEST_F(PlanReportJson, HoldsTheFiguresOfTheReport) {
  const Json json = json_for(profile_);
  EXPECT_EQ(json["samples"], 16);
  EXPECT_EQ(json["plans"][0]["operators"][0]["name"], "Group by");
  EXPECT_DOUBLE_EQ(json["plans"][0]["operators"][0]["samples"], 4);
  EXPECT_EQ(json["plans"][0]["operators"][1]["inputs"], Json({3, 5}));
  EXPECT_EQ(json["unattributed_rows"].size(), 3u);
  EXPECT_TRUE(json["file"]["finished"]);
  EXPECT_EQ(json["plans"][0]["executions_without_sample"], 0);
}

// IR 1 .. 10 exact, IR 0 set-up code, the set shared; the tag's sample and those of components are at no
// link.
TEST_F(PlanReportJson, CountsSamplesByTheirLinks) {
  EXPECT_EQ(json_for(profile_)["by_link"], Json({{"exact", 10},
                                                 {"inferred", 0},
                                                 {"shared", 1},
                                                 {"prologue", 1},
                                                 {"unmapped", 0},
                                                 {"two_names", 0}}));
}

TEST_F(PlanReportJson, CountsStacksByTheirEnd) {
  const Json none = json_for(profile_)["accounting"];
  EXPECT_EQ(none["stacks_walked"], 0);
  EXPECT_EQ(none["stacks_without_begin_share"], 0.0);
  const Json json = json_for(test::make_profile([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    sink.on_accounting(test::walked_stacks(16, 100));
  }))["accounting"];
  EXPECT_EQ(json["stacks_walked"], 80);
  EXPECT_DOUBLE_EQ(json["stacks_without_begin_share"], 0.12);
  const std::map<std::string, int> ends = {{"known", 8},   {"begin", 60}, {"no_rule", 4},  {"generated", 0},
                                           {"no_file", 0}, {"short", 8},  {"nonsense", 0}, {"unread", 0},
                                           {"work", 0},    {"frames", 0}};
  for (const auto& [end, stacks] : ends) EXPECT_EQ(json["stacks_" + end], stacks) << end;
}

TEST_F(PlanReportJson, SaysOfWhatSharesAreParts) {
  EXPECT_EQ(json_for(profile_)["shares_in_plans_of"], "plan");
  EXPECT_EQ(json_for(profile_, {.base = Base::kEverything})["shares_in_plans_of"], "everything");
}

TEST_F(PlanReportJson, SaysWhichSamplesAreInIt) {
  EXPECT_FALSE(json_for(profile_).contains("only"));
  const Profile some = profile_.only([](const TimedSample&) { return true; }, "thread 4243");
  EXPECT_EQ(json_for(some)["only"], "thread 4243");
}

void give_two_events(profile::ProfileSink& sink) {
  test::give_context(sink);
  profile::RecordingInfo info;
  info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false},
                  {1, "page-faults", profile::Unit::kEvents, 1, false}};
  info.sampling_notes = "imported from perf.data";
  sink.on_recording(info);
  const TimeNs t = test::kSampleStart;
  std::vector<profile::SampleRecord> samples = {test::ir_sample(t, 1), test::ir_sample(t + 1, 1),
                                                test::ir_sample(t + 2, 3)};
  samples[2].source = 1;
  sink.on_samples(samples);
}

// IR 1 is of the scan of orders, whose estimate of rows is of its plan.
TEST_F(PlanReportJson, WaitsSayWhatTheirOperatorWorksOn) {
  const Json json = json_for(test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    profile::RecordingInfo info;
    info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 100, false},
                    {1, "off-cpu", profile::Unit::kNsOffCpu, 1, false}};
    sink.on_recording(info);
    const TimeNs t = test::kSampleStart;
    std::vector<profile::SampleRecord> samples = {test::ir_sample(t, 1), test::ir_sample(t + 1, 1),
                                                  test::component_sample(t + 2, 1)};
    for (std::size_t i = 1; i < samples.size(); ++i) {
      samples[i].source = 1;
      samples[i].wait = profile::Wait::kLock;
      samples[i].weight = 100 * i;
    }
    sink.on_samples(samples);
  }));
  const Json& rows = json["off_cpu"]["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_FALSE(rows[0].contains("attributes")) << "it is of no operator: " << rows[0];
  EXPECT_EQ(rows[1]["attributes"], Json::array({{{"key", "table"}, {"value", "orders"}}})) << rows[1];
}

TEST(FunctionReportJson, EachRowNamesItsEvent) {
  LoadOptions options;
  options.functions = true;
  const Profile profile = test::load(test::profile_bytes(give_two_events), options);
  const auto report = function_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  const auto others = other_events(profile, {}, *report);
  ASSERT_TRUE(others) << others.error().message;
  const Json json = Json::parse(to_json(profile, *report, *others));
  std::map<std::string, double> samples;
  for (const Json& row : json["functions"]) samples[row["event"]] += row["samples"].get<double>();
  EXPECT_EQ(samples, (std::map<std::string, double>{{"cpu-clock", 2}, {"page-faults", 1}}));
}

// IR 6 is of operator 1.
TEST(MemoryReportJson, SaysWhereAddressesLieAndWhoseAccessesTheyAre) {
  const Profile profile = test::make_profile([](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::RegionKind kind;
    kind.set_id(5);
    kind.set_name("hash table");
    sink.on_region_kind(test::kSampleProcess, kind);
    profile::SampleRecord in_region = test::ir_sample(test::kSampleStart, 6), lost = in_region;
    in_region.address_from = profile::AddressFrom::kOperand;
    in_region.region = 5;
    sink.on_samples(std::vector{in_region, in_region, lost});
  });
  const auto report = memory_report(profile, {});
  ASSERT_TRUE(report) << report.error().message;
  const Json json = Json::parse(to_json(profile, *report));
  EXPECT_EQ(json["addresses"]["in_regions"], 2);
  EXPECT_EQ(json["addresses"]["lost"], 1);
  EXPECT_EQ(json["rows"][0]["operator"], 1);
  EXPECT_EQ(json["rows"][0]["region"], 5);
  EXPECT_EQ(json["rows"][0]["region_name"], "hash table");
}

}  // namespace
}  // namespace tailor::query
