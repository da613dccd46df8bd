// A tag of a plan that its agent told of late: the same answer as attribution's, and only within what was
// late.
#include "daemon/query/load/late_plans.h"

#include <gtest/gtest.h>

#include "tailor/tag.h"

namespace tailor::query {
namespace {

using profile::How;
using profile::Reason;

const ProcessId kProcess{7, 1};
constexpr std::uint64_t kKey = 0xABCDEF;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr TimeNs kLoaded = 100 * kSecond, kUntil = 104 * kSecond;

v1::Plan plan(PlanId id, std::uint32_t slot, TimeNs late_until) {
  v1::Plan out;
  out.set_id(id);
  out.set_slot(slot);
  out.add_levels()->set_component_count(4);
  out.add_levels()->set_component_count(9);
  out.set_tag_lower_level(1);
  out.set_has_tag_lower_level(true);
  out.set_late_until(late_until);
  return out;
}

std::uint64_t tag(std::uint32_t slot, std::uint32_t upper, std::uint32_t lower) {
  return tailor_tag_make(kKey, slot, 0, upper, lower);
}

profile::SampleRecord sample(TimeNs time, std::uint64_t tag) {
  profile::SampleRecord out;
  out.process = kProcess;
  out.time = time;
  out.has_tag = true;
  out.tag = tag;
  out.attribution.reason = Reason::kTagPlanNotLive;
  return out;
}

profile::ExecutionRecord execution(ExecutionHandle handle, PlanId plan, TimeNs begin, TimeNs end,
                                   TimeNs heard) {
  profile::ExecutionRecord out;
  out.process = kProcess;
  out.handle = handle;
  out.plan = plan;
  out.begin = begin;
  out.end = end;
  out.heard = heard;
  return out;
}

class LatePlansTest : public testing::Test {
 protected:
  LatePlansTest() {
    profile::ProcessRecord process;
    process.process = kProcess;
    process.registered = 50 * kSecond;
    process.tag_key = kKey;
    plans.on_process(process);
    plans.on_plan(kProcess, kLoaded, plan(3, 2, kUntil));
  }
  LatePlans plans;
};

TEST_F(LatePlansTest, ATagCountsAsItWouldHave) {
  profile::SampleRecord s = sample(kLoaded, tag(2, 4, 9));
  s.alike = 5;
  EXPECT_TRUE(plans.apply(s));
  EXPECT_EQ(s.attribution.how, How::kTag);
  EXPECT_EQ(s.attribution.reason, Reason::kNone);
  EXPECT_EQ(s.attribution.plan, 3u);
  EXPECT_EQ(s.attribution.level, 1);
  EXPECT_EQ(s.attribution.link, 9u << 1);
  EXPECT_EQ(s.alike, 0u) << "it is like no other any more";
  profile::SampleRecord upper = sample(kUntil, tag(2, 4, 0));
  upper.mode = profile::Mode::kKernel;
  EXPECT_TRUE(plans.apply(upper));
  EXPECT_EQ(upper.attribution.how, How::kKernelTag);
  EXPECT_EQ(upper.attribution.level, 0);
  EXPECT_EQ(upper.attribution.link, 4u << 1);
}

// An engine takes long to begin: its agent speaks when samples of that time have been attributed.
class LateStartTest : public testing::Test {
 protected:
  explicit LateStartTest(bool own = true) {
    profile::ProcessRecord process;
    process.process = kProcess;
    process.registered = 50 * kSecond;
    plans.on_process(process);
    constexpr std::uint32_t kEngineStart = 0xFFFF'FFFE;
    if (own) plans.on_component(kProcess, kEngineStart);
  }
  static profile::SampleRecord unregistered(TimeNs time, ProcessId process = kProcess) {
    profile::SampleRecord out;
    out.process = process;
    out.time = time;
    out.alike = 3;
    out.attribution.reason = Reason::kNotRegistered;
    return out;
  }
  LatePlans plans;
};

TEST_F(LateStartTest, WhatItDidBeforeIsItsStart) {
  EXPECT_TRUE(plans.empty()) << "nobody waits for it";
  profile::SampleRecord early = unregistered(40 * kSecond);
  EXPECT_FALSE(plans.apply(early));
  plans.on_unregistered(kProcess, 40 * kSecond);
  EXPECT_FALSE(plans.empty());
  EXPECT_TRUE(plans.came_late(kProcess));
  EXPECT_TRUE(plans.apply(early));
  EXPECT_EQ(early.attribution.reason, Reason::kNone);
  EXPECT_EQ(early.attribution.how, How::kComponentInterval);
  EXPECT_EQ(early.attribution.engine_component, 0xFFFF'FFFEu);
  EXPECT_EQ(early.alike, 0u);
  profile::SampleRecord later = unregistered(60 * kSecond);  // its agent has gone by then
  EXPECT_FALSE(plans.apply(later));
  profile::SampleRecord of_another = unregistered(40 * kSecond, {8, 1});
  EXPECT_FALSE(plans.apply(of_another));
}

TEST_F(LateStartTest, WhatItDidAfterwardsIsNot) {
  plans.on_unregistered(kProcess, 60 * kSecond);
  EXPECT_TRUE(plans.empty());
  EXPECT_FALSE(plans.came_late(kProcess));
}

class ForeignStartTest : public LateStartTest {
 protected:
  ForeignStartTest() : LateStartTest(false) {}
};

TEST_F(ForeignStartTest, APerfMapIsNoAgentOfItsOwn) {
  plans.on_unregistered(kProcess, 40 * kSecond);
  profile::SampleRecord early = unregistered(40 * kSecond);
  EXPECT_TRUE(plans.empty());
  EXPECT_FALSE(plans.apply(early));
}

TEST_F(LatePlansTest, OnlyWhatWasAttributedBeforeThePlanWasTold) {
  for (const TimeNs time : {kLoaded - 1, kUntil + 1}) {
    profile::SampleRecord s = sample(time, tag(2, 4, 9));
    EXPECT_FALSE(plans.apply(s)) << time;
    EXPECT_EQ(s.attribution.reason, Reason::kTagPlanNotLive);
  }
}

TEST_F(LatePlansTest, WhatIsNoTagOfThePlanStaysRefused) {
  const std::uint64_t good = tag(2, 4, 9);
  const std::uint64_t of_another_key = tailor_tag_make(kKey + 1, 2, 0, 4, 9);
  for (const std::uint64_t bad : {good ^ 1, of_another_key, tag(3, 4, 9), tag(2, 5, 9), tag(2, 4, 10),
                                  tag(2, 0, 0), tailor_tag_make(kKey, 2, 1, 4, 9), std::uint64_t{0}}) {
    profile::SampleRecord s = sample(kLoaded, bad);
    EXPECT_FALSE(plans.apply(s)) << std::hex << bad;
    EXPECT_EQ(s.attribution.plan, 0u);
  }
  profile::SampleRecord without = sample(kLoaded, good);
  without.has_tag = false;
  EXPECT_FALSE(plans.apply(without));
}

TEST_F(LatePlansTest, APlanThatWasToldInTimeNamesNothing) {
  plans.on_plan(kProcess, kLoaded + kSecond, plan(4, 2, 0));  // it has the slot from then on
  profile::SampleRecord before = sample(kLoaded + kSecond - 1, tag(2, 4, 9));
  EXPECT_TRUE(plans.apply(before));
  profile::SampleRecord after = sample(kLoaded + kSecond, tag(2, 4, 9));
  EXPECT_FALSE(plans.apply(after));
  LatePlans none;
  none.on_plan(kProcess, kLoaded, plan(3, 2, 0));
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(plans.empty());
}

TEST_F(LatePlansTest, CodeAndTagsThatCountedStayAndTheRestGivesWay) {
  for (const How how : {How::kCode, How::kKernelCode, How::kTag, How::kKernelTag, How::kTagUnwound}) {
    profile::SampleRecord s = sample(kLoaded, tag(2, 4, 9));
    s.attribution.how = how;
    s.attribution.plan = 1;
    EXPECT_FALSE(plans.apply(s));
    EXPECT_EQ(s.attribution.plan, 1u);
  }
  for (const How how : {How::kCallchain, How::kComponentInterval, How::kComponentCode}) {
    profile::SampleRecord s = sample(kLoaded, tag(2, 4, 9));
    s.attribution.how = how;
    s.attribution.engine_component = 6;
    EXPECT_FALSE(plans.apply(s)) << "it was attributed before";
    EXPECT_EQ(s.attribution.how, How::kTag);
    EXPECT_EQ(s.attribution.engine_component, 0u);
  }
}

TEST_F(LatePlansTest, AnEngineComponentInTheLowerField) {
  v1::Plan one_level = plan(5, 6, kUntil);
  one_level.mutable_levels()->RemoveLast();
  one_level.set_has_tag_lower_level(false);
  plans.on_plan(kProcess, kLoaded, one_level);
  profile::SampleRecord unknown = sample(kLoaded, tag(6, 0, 8));
  EXPECT_FALSE(plans.apply(unknown));
  plans.on_component(kProcess, 8);
  plans.on_execution(execution(20, 5, kLoaded, kTimeMax, kLoaded));
  profile::SampleRecord s = sample(kLoaded, tag(6, 0, 8));
  EXPECT_TRUE(plans.apply(s));
  EXPECT_EQ(s.attribution.how, How::kComponentInterval);
  EXPECT_EQ(s.attribution.engine_component, 8u);
  EXPECT_EQ(s.attribution.plan, 0u);
  EXPECT_EQ(s.attribution.execution, 20u) << "the plan's execution";
}

TEST_F(LatePlansTest, TheOneExecutionOfThePlanThatRan) {
  plans.on_execution(execution(10, 3, kLoaded, kLoaded + 10, kLoaded));
  plans.on_execution(execution(11, 3, kLoaded + 20, kLoaded + 40, kLoaded));
  plans.on_execution(execution(12, 3, kLoaded + 30, kTimeMax, kLoaded + 5 * kSecond));  // told late itself
  plans.on_execution(execution(13, 9, kLoaded, kTimeMax, kLoaded));
  const std::pair<TimeNs, ExecutionHandle> cases[] = {{0, 10}, {10, 0}, {20, 11}, {30, 0}, {40, 12}};
  for (const auto& [after, handle] : cases) {
    profile::SampleRecord s = sample(kLoaded + after, tag(2, 4, 9));
    EXPECT_TRUE(plans.apply(s));
    EXPECT_EQ(s.attribution.execution, handle) << after;
  }
  // The log names one: its own stays, of another plan it is none.
  for (const auto& [named, left] : {std::pair<ExecutionHandle, ExecutionHandle>{12, 12}, {13, 0}, {99, 99}}) {
    profile::SampleRecord s = sample(kLoaded + 5, tag(2, 4, 9));
    s.attribution.execution = named;
    s.attribution.pipeline = 4;
    EXPECT_TRUE(plans.apply(s));
    EXPECT_EQ(s.attribution.execution, left);
    EXPECT_EQ(s.attribution.pipeline, left == 0 ? 0 : 4);
    EXPECT_EQ(s.attribution.plan, 3u);
  }
}

}  // namespace
}  // namespace tailor::query
