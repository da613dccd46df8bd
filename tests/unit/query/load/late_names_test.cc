#include "daemon/query/load/late_names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>

#include "daemon/profile/told_by.h"
#include "daemon/query/load/damage.h"
#include "daemon/query/load/profile_loader.h"

namespace tailor::query {
namespace {

using profile::How;
using profile::Quality;
using profile::Reason;

const ProcessId kOwner{7, 1};

v1::CodeObject code(CodeId id, std::uint64_t base, std::uint64_t size, const std::string& name,
                    v1::ToldBy told_by) {
  v1::CodeObject out;
  out.set_id(id);
  out.set_plan_id(3);
  out.set_base(base);
  out.set_size(size);
  out.set_name(name);
  out.set_told_by(told_by);
  out.mutable_rows()->add_offset_delta(0);
  out.mutable_rows()->add_link_delta(static_cast<std::int32_t>(id << 1));
  out.mutable_rows()->mutable_flags()->push_back(0);
  return out;
}

profile::SampleRecord sample(std::uint64_t ip, TimeNs time) {
  profile::SampleRecord out;
  out.process = kOwner;
  out.time = time;
  out.ip = out.user_ip = ip;
  out.attribution.reason = Reason::kNotRegistered;
  return out;
}

TEST(LateNames, AMapThatComesAtTheEndNamesTheWholeLifeAsInferred) {
  LateNames names;
  names.on_code(kOwner, 1'000'000, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  profile::SampleRecord s = sample(0x1080, 5);
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCode);
  EXPECT_EQ(s.attribution.reason, Reason::kNone);
  EXPECT_EQ(s.attribution.quality, Quality::kInferred);
  EXPECT_EQ(s.attribution.plan, 3u);
  EXPECT_EQ(s.attribution.link, 1u << 1);
  profile::SampleRecord beyond = sample(0x1100, 5);
  EXPECT_FALSE(names.apply(beyond));
  EXPECT_EQ(beyond.attribution.reason, Reason::kNotRegistered);
}

TEST(LateNames, AMapNamesItsOwnProgramAloneWhereTheProcessExecutesAnother) {
  LateNames names;
  names.on_code(kOwner, 10, code(1, 0x1000, 0x100, "first", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 10, code(2, 0x3000, 0x100, "dumped", v1::TOLD_BY_JITDUMP));
  names.on_executed(kOwner, 100);
  names.on_code(kOwner, 300, code(3, 0x2000, 0x100, "second", v1::TOLD_BY_PERF_MAP));
  const auto code_at = [&](std::uint64_t address, TimeNs time) {
    const auto found = names.code_at(kOwner, address, time);
    return found ? found->id : CodeId{0};
  };
  EXPECT_EQ(code_at(0x1080, 50), CodeId{1});
  EXPECT_EQ(code_at(0x1080, 99), CodeId{1});
  EXPECT_EQ(code_at(0x1080, 100), CodeId{0}) << "the first one's names end with it";
  EXPECT_EQ(code_at(0x3080, 50), CodeId{2});
  EXPECT_EQ(code_at(0x3080, 150), CodeId{0});
  EXPECT_EQ(code_at(0x2080, 50), CodeId{0}) << "the second one had not begun";
  EXPECT_EQ(code_at(0x2080, 150), CodeId{3}) << "before its map was read";
}

TEST(LateNames, OfEntriesOfAMapThatOverlapTheOneWithinCounts) {
  LateNames names;
  names.on_code(kOwner, 0, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(2, 0x1080, 0x40, "g", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(3, 0x1000, 0x40, "f", v1::TOLD_BY_PERF_MAP));  // the same name again
  profile::SampleRecord only = sample(0x1010, 5), both = sample(0x1090, 5), after = sample(0x10c0, 5);
  EXPECT_TRUE(names.apply(only));
  EXPECT_EQ(only.attribution.quality, Quality::kInferred);
  EXPECT_TRUE(names.apply(both));
  EXPECT_EQ(both.attribution.code, CodeId{2});
  EXPECT_EQ(both.attribution.quality, Quality::kInferred);
  EXPECT_TRUE(names.apply(after));
  EXPECT_EQ(after.attribution.quality, Quality::kInferred);
  // What was attributed while only one of the names was known changes its name.
  profile::SampleRecord early = sample(0x1090, 5);
  early.attribution.how = How::kCode;
  early.attribution.link = 1 << 1;
  EXPECT_FALSE(names.apply(early)) << "it was not unattributed";
  EXPECT_EQ(early.attribution.code, CodeId{2});
  EXPECT_EQ(early.attribution.link, 2u << 1);
  EXPECT_EQ(names.code_at(kOwner, 0x1090, 5)->id, CodeId{2});
}

TEST(LateNames, AnEntryOfAMapForTheWholeArenaLeavesTheNamesOfThoseWithin) {
  LateNames names;
  names.on_code(kOwner, 0, code(1, 0x1100, 0x40, "first", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(2, 0x1000, 0x1000, "arena", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(3, 0x1200, 0x40, "second", v1::TOLD_BY_PERF_MAP));
  EXPECT_EQ(names.code_at(kOwner, 0x1110, 5)->id, CodeId{1});
  EXPECT_EQ(names.code_at(kOwner, 0x1180, 5)->id, CodeId{2});
  EXPECT_EQ(names.code_at(kOwner, 0x1210, 5)->id, CodeId{3});
}

TEST(LateNames, OfEntriesOfAMapThatAreNotWithinEachOtherTheLaterCounts) {
  LateNames names;
  names.on_code(kOwner, 0, code(1, 0x1000, 0x100, "old", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(2, 0x1000, 0x100, "new", v1::TOLD_BY_PERF_MAP));
  names.on_code(kOwner, 0, code(3, 0x10c0, 0x100, "across", v1::TOLD_BY_PERF_MAP));
  EXPECT_EQ(names.code_at(kOwner, 0x1010, 5)->id, CodeId{2});
  EXPECT_EQ(names.code_at(kOwner, 0x10d0, 5)->id, CodeId{3});
  EXPECT_EQ(names.code_at(kOwner, 0x1110, 5)->id, CodeId{3});
}

TEST(LateNames, OfVeryManyNamesOfOneAddressTheLastCounts) {
  constexpr CodeId kNames = 50'000;
  LateNames names;
  for (CodeId id = 1; id <= kNames; ++id)
    names.on_code(kOwner, 0, code(id, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  EXPECT_EQ(names.code_at(kOwner, 0x1010, 5)->id, kNames);
  EXPECT_EQ(names.left_out(), 0u) << "perf has one of them, too";
}

TEST(LateNames, OfVeryMuchCodeAtOneAddressTheOldestIsLeftOutAndCounted) {
  constexpr CodeId kNames = 50'000, kKept = 4096;
  LateNames names;
  for (CodeId id = 1; id <= kNames; ++id)
    names.on_code(kOwner, static_cast<TimeNs>(id), code(id, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
  const auto id_at = [&](CodeId time) {
    const auto found = names.code_at(kOwner, 0x1010, static_cast<TimeNs>(time));
    return found ? found->id : 0;
  };
  EXPECT_EQ(id_at(kNames + 5), kNames);
  EXPECT_EQ(id_at(kNames - kKept + 1), kNames - kKept + 1);
  EXPECT_EQ(id_at(kNames - kKept), CodeId{0});
  EXPECT_EQ(names.left_out(), kNames - kKept);
}

TEST(LateNames, AReportSaysHowMuchCodeIsLeftOut) {
  const auto tell = [](ProfileLoader& loader) {
    for (CodeId id = 1; id <= 5000; ++id)
      loader.on_code(kOwner, static_cast<TimeNs>(id), code(id, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
    const profile::SampleRecord one = sample(0x1010, 6000);
    loader.on_samples({&one, 1});
  };
  ProfileLoader first{LoadOptions()};
  tell(first);
  ASSERT_TRUE(first.learned_late());
  ProfileLoader again(LoadOptions(), std::move(first));
  tell(again);
  EXPECT_THAT(damage_text(again.finish()),
              testing::HasSubstr("904 pieces of generated code have no name at some place"));
}

TEST(LateNames, CodeOfADumpCountsFromItsTimeUntilOtherCodeIsThere) {
  LateNames names;
  names.on_code(kOwner, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
  names.on_code(kOwner, 200, code(2, 0x1000, 0x100, "g", v1::TOLD_BY_JITDUMP));
  const auto link_at = [&](TimeNs time) {
    profile::SampleRecord s = sample(0x1010, time);
    return names.apply(s) ? s.attribution.link : 0;
  };
  EXPECT_EQ(link_at(99), 0u);
  EXPECT_EQ(link_at(100), 1u << 1);
  EXPECT_EQ(link_at(199), 1u << 1);
  EXPECT_EQ(link_at(200), 2u << 1);
}

TEST(LateNames, ALibraryIsOwnedByTheGeneratedCodeThatCalledIt) {
  LateNames names;
  names.on_code(kOwner, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_JITDUMP));
  const profile::StackFrame outer{nullptr, 0x5000}, caller{&outer, 0x1080};
  profile::SampleRecord s = sample(0x9000, 150);
  s.stack = &caller;
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCallchain);
}

// An agent's code of plan 3, whose levels are two. Rows: of component 5 from 0x40 on.
v1::CodeObject agents_code(CodeId id, std::uint64_t base, PlanId plan = 3) {
  v1::CodeObject out = code(id, base, 0x100, "f", profile::kToldByAgentLate);
  out.set_plan_id(plan);
  out.clear_rows();
  if (plan == 0) return out;
  out.mutable_rows()->add_offset_delta(0);
  out.mutable_rows()->add_offset_delta(0x40);
  out.mutable_rows()->add_link_delta(0);
  out.mutable_rows()->add_link_delta(5 << 1);
  out.mutable_rows()->set_flags(std::string{v1::ROW_PROLOGUE, v1::ROW_INFERRED});
  return out;
}

class LateAgent : public testing::Test {
 protected:
  LateAgent() {
    v1::Plan plan;
    plan.set_id(3);
    plan.add_levels();
    plan.add_levels();
    names.on_plan(kOwner, 0, plan);
    names.on_code(kOwner, 100, agents_code(1, 0x1000));
  }
  // Of the execution 8, as a component has it that is known by an interval.
  static profile::SampleRecord of_component(std::uint64_t ip, TimeNs time) {
    profile::SampleRecord out = sample(ip, time);
    out.attribution.reason = Reason::kNone;
    out.attribution.how = How::kComponentInterval;
    out.attribution.engine_component = 2;
    out.attribution.execution = 8;
    out.attribution.pipeline = 4;
    return out;
  }
  void run(ExecutionHandle handle, PlanId plan) {
    profile::ExecutionRecord execution;
    execution.process = kOwner;
    execution.handle = handle;
    execution.plan = plan;
    names.on_execution(execution);
  }
  LateNames names;
};

TEST_F(LateAgent, CodeCountsFromItsLoadUntilItsUnloading) {
  names.on_code_unload(kOwner, 200, 1);
  names.on_code(kOwner, 300, agents_code(2, 0x1080));
  EXPECT_FALSE(names.empty());
  for (const auto& [time, code] : std::map<TimeNs, CodeId>{{99, 0}, {100, 1}, {199, 1}, {200, 0}, {300, 2}}) {
    profile::SampleRecord s = sample(0x10f0, time);
    EXPECT_EQ(names.apply(s), code != 0) << time;
    EXPECT_EQ(s.attribution.code, code) << time;
  }
  profile::SampleRecord s = sample(0x1050, 150);
  s.alike = 7;
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCode);
  EXPECT_EQ(s.attribution.level, 1);
  EXPECT_EQ(s.attribution.link, 5u << 1);
  EXPECT_EQ(s.attribution.quality, Quality::kInferred);
  EXPECT_EQ(s.alike, 0u) << "it is like no other any more";
  profile::SampleRecord start = sample(0x1010, 150);
  EXPECT_TRUE(names.apply(start));
  EXPECT_EQ(start.attribution.quality, Quality::kPrologue);
}

// The message about an older object of the same number may come last.
TEST_F(LateAgent, ALateUnloadEndsNothingNewer) {
  names.on_code_unload(kOwner, 50, 1);
  profile::SampleRecord s = sample(0x10f0, 150);
  EXPECT_TRUE(names.apply(s));
  EXPECT_EQ(s.attribution.code, 1u);
}

TEST_F(LateAgent, WhatAttributionKnewStays) {
  for (How how : {How::kCode, How::kTag, How::kKernelCode, How::kTagUnwound}) {
    profile::SampleRecord s = sample(0x1050, 150);
    s.attribution.how = how;
    s.attribution.code = 9;
    EXPECT_FALSE(names.apply(s));
    EXPECT_EQ(s.attribution.how, how);
    EXPECT_EQ(s.attribution.code, 9u);
  }
  // A caller in code that came in time, of which nothing is known here: it may be nearer.
  const profile::StackFrame caller{nullptr, 0x1080};
  profile::SampleRecord called = sample(0x9000, 150);
  called.stack = &caller;
  called.attribution.how = How::kCallchain;
  called.attribution.code = 9;
  EXPECT_FALSE(names.apply(called));
  EXPECT_EQ(called.attribution.code, 9u);
}

TEST_F(LateAgent, AComponentGivesWayToCodeOfTheExecutionsPlan) {
  run(8, 3);
  profile::SampleRecord s = of_component(0x1050, 150);
  EXPECT_FALSE(names.apply(s)) << "it was attributed before";
  EXPECT_EQ(s.attribution.how, How::kCode);
  EXPECT_EQ(s.attribution.engine_component, 0u);
  EXPECT_EQ(s.attribution.execution, 8u);
  EXPECT_EQ(s.attribution.pipeline, 4u);
  run(8, 4);
  profile::SampleRecord of_another = of_component(0x1050, 150);
  EXPECT_FALSE(names.apply(of_another));
  EXPECT_EQ(of_another.attribution.how, How::kComponentInterval) << "the code is of another query now";
  of_another.attribution.how = How::kUnattributed;
  EXPECT_TRUE(names.apply(of_another));
  EXPECT_EQ(of_another.attribution.execution, 0u);
}

TEST_F(LateAgent, ACallerThatWasKnownGivesWayToOneMoreInside) {
  names.on_code(kOwner, 100, agents_code(2, 0x5000));
  names.on_code(kOwner, 100, agents_code(4, 0x7000, 0));  // of no plan: it works for its callers
  const profile::StackFrame outer{nullptr, 0x5080}, inner{&outer, 0x1080};
  profile::SampleRecord s = sample(0x7010, 150);
  s.stack = &inner;
  s.attribution.how = How::kCallchain;
  s.attribution.code = 2;
  EXPECT_FALSE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kCallchain);
  EXPECT_EQ(s.attribution.code, 1u);
}

TEST_F(LateAgent, CodeOfAPlanThatIsNotThereNamesNothing) {
  names.on_code(kOwner, 100, agents_code(2, 0x5000, 6));
  profile::SampleRecord s = sample(0x5050, 150);
  EXPECT_FALSE(names.apply(s));
  EXPECT_EQ(s.attribution.how, How::kUnattributed);
}

TEST(LateNames, WhatAgentsSaidInTimeIsNotSaidAgain) {
  LateNames names;
  names.on_code(kOwner, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_AGENT));
  EXPECT_TRUE(names.empty());
  names.on_code(kOwner, 100, code(1, 0x1000, 0x100, "f", v1::TOLD_BY_PERF_MAP));
  profile::SampleRecord other = sample(0x1010, 5);
  other.process = {8, 1};
  EXPECT_FALSE(names.apply(other));
}

}  // namespace
}  // namespace tailor::query
