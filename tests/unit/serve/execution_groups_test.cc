#include "daemon/serve/execution_groups.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "daemon/profile/added_runs.h"

namespace tailor::serve {
namespace {

const std::string kOnePod = "2c48913c-b29f-11e7-9350-020968147796";
const std::string kContainer = "2227daf62df6694645fee5df53c1f91271546a9560e8600a525690ae252b7f63";

store::ExecutionRow ran_in(const std::string& cgroup, double cpu_ns) {
  store::ExecutionRow row;
  row.cgroup = cgroup;
  row.record.begin = 100;
  row.record.end = 300;
  row.wall_begin_ns = 5'000'000;
  row.cost = {7, cpu_ns};
  return row;
}

TEST(ExecutionGroups, ArePodsOrContainersOrCgroups) {
  const std::string in_pod = "/kubepods/burstable/pod" + kOnePod;
  const std::string of_container = in_pod + "/" + kContainer;
  for (const GroupBy by : {GroupBy::kCgroup, GroupBy::kPod, GroupBy::kContainer}) {
    ExecutionGroups groups(by);
    groups.add(ran_in(of_container, 10));
    groups.add(ran_in(in_pod, 1));
    groups.add(ran_in("/system.slice/a.service", 5));
    const auto found = groups.finish();
    ASSERT_EQ(found.size(), by == GroupBy::kCgroup ? 3u : 2u);
    EXPECT_EQ(found[0].name, by == GroupBy::kCgroup ? of_container
                             : by == GroupBy::kPod  ? kOnePod
                                                    : kContainer);
    EXPECT_EQ(found[0].cpu_ns, by == GroupBy::kPod ? 11 : 10) << "the one with most CPU time is the first";
    EXPECT_EQ(found[1].name, by == GroupBy::kCgroup ? "/system.slice/a.service" : "");
  }
}

TEST(ExecutionGroups, AddUpWhatTheirExecutionsSay) {
  ExecutionGroups groups(GroupBy::kCgroup);
  groups.add(ran_in("/a", 10));
  store::ExecutionRow failed = ran_in("/a", 20);
  failed.record.error = "cancelled";
  failed.record.end = 500;
  groups.add(failed);
  store::ExecutionRow running = ran_in("/a", 30);
  running.record.end = kTimeMax;
  running.wall_begin_ns = 9'000'000;
  groups.add(running);
  const query::Json json = groups_json(groups.finish(), GroupBy::kCgroup, 10);
  EXPECT_EQ(
      json.dump(),
      R"({"by":"cgroup","groups":[{"name":"/a","executions":3,"running":1,"failed":1,"drawn":3,"cpu_ns":60.0,)"
      R"("samples":21,"elapsed_ns_mean":300.0,"last_ms":9.0}],"more":false})");
}

// Nobody knows what the others cost.
TEST(ExecutionGroups, SayOfHowManyExecutionsTheCostIs) {
  ExecutionGroups groups(GroupBy::kCgroup);
  groups.add(ran_in("/a", 10));
  store::ExecutionRow left_out = ran_in("/a", 0);
  left_out.record.drawn = false;
  groups.add(left_out);
  const auto found = groups.finish();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].executions, 2u);
  EXPECT_EQ(found[0].drawn, 1u);
}

TEST(ExecutionGroups, CountEachOfTheRunsThatAreAddedUp) {
  ExecutionGroups groups(GroupBy::kCgroup);
  groups.add(ran_in("/a", 10));  // of 200 ns
  store::ExecutionRow sum = ran_in("/a", 20);
  sum.record.added = std::make_shared<const profile::AddedRuns>(profile::AddedRuns{3, 1, 40, 10, 20, {}});
  groups.add(sum);
  sum.record.added = std::make_shared<const profile::AddedRuns>();  // none of its runs ended
  groups.add(sum);
  const auto found = groups.finish();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].executions, 4u);
  EXPECT_EQ(found[0].failed, 1u);
  EXPECT_EQ(found[0].ended, 4u);
  EXPECT_EQ(found[0].elapsed_ns, 240);
  const query::Json json = groups_json(found, GroupBy::kCgroup, 10);
  EXPECT_EQ(json["groups"][0]["elapsed_ns_mean"], 60.0);
}

// An old agent does not say how many runs it added up, and they took less than from the first to the last.
TEST(ExecutionGroups, RunsOfUnknownNumberAreInNoElapsedTime) {
  ExecutionGroups groups(GroupBy::kCgroup);
  groups.add(ran_in("/a", 10));  // of 200 ns
  store::ExecutionRow sum = ran_in("/a", 20);
  sum.record.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  sum.record.end = 30'000'000'000;
  sum.record.error = "cancelled";
  groups.add(sum);
  const auto found = groups.finish();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].executions, 2u);
  EXPECT_EQ(found[0].failed, 1u);
  EXPECT_EQ(found[0].ended, 1u);
  EXPECT_EQ(found[0].untimed, 1u);
  const query::Json json = groups_json(found, GroupBy::kCgroup, 10);
  EXPECT_EQ(json["groups"][0]["elapsed_ns_mean"], 200.0);
  EXPECT_EQ(json["groups"][0]["elapsed_unknown"], 1);
}

TEST(ExecutionGroups, SayWhatIsKnownOfNoGroup) {
  GoneRow row;
  row.hour = 1000;
  row.runs = {5, 1, 50, 10, 10};
  row.runs.not_drawn = 2;
  row.cpu.weight = store::to_parts(3e6);
  row.cpu.samples = store::to_parts(3);
  GoneList list{{row}, true};
  row.hour = 976;
  row.hours = 24;
  list.rows.push_back(row);
  NotInGroups missing;
  missing.gone = sum_of(list);
  const query::Json json = groups_json({}, GroupBy::kPod, 10, missing)["gone"];
  EXPECT_EQ(json["executions"], 10);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["drawn"], 6);
  EXPECT_EQ(json["cpu_ns"], 6e6);
  EXPECT_EQ(json["samples"], 6.0);
  EXPECT_EQ(json["since_ms"], 976 * 3'600'000.0);
  EXPECT_EQ(json["until_ms"], 1001 * 3'600'000.0);
  EXPECT_EQ(json["more"], true);
  EXPECT_FALSE(groups_json({}, GroupBy::kPod, 10).contains("gone")) << "a file has no such sums";
}

TEST(ExecutionGroups, BeyondTheMostTheRestIsOne) {
  ExecutionGroups groups(GroupBy::kCgroup);
  for (std::size_t i = 0; i < ExecutionGroups::kMostGroups + 5; ++i)
    groups.add(ran_in("/" + std::to_string(i), 1));
  groups.add(ran_in("/1", 1));  // is known
  const auto found = groups.finish();
  ASSERT_EQ(found.size(), ExecutionGroups::kMostGroups + 1);
  EXPECT_EQ(found[0].name, ExecutionGroups::kOther);
  EXPECT_EQ(found[0].executions, 5u);
  EXPECT_EQ(found[1].name, "/1");
  const query::Json json = groups_json(found, GroupBy::kCgroup, 2);
  EXPECT_EQ(json["groups"].size(), 2u);
  EXPECT_TRUE(json["more"].get<bool>());
}

}  // namespace
}  // namespace tailor::serve
