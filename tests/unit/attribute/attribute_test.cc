// Each rule, their order, and identity by (address, time).
#include "daemon/attribute/attribute.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/unit/attribute/fixture.h"

namespace tailor::attribute {
namespace {

TEST_F(AttributeTest, Rule1TheRowTableNamesTheOwner) {
  profile::Attribution attribution = run(user_sample(ip_of(3)));
  EXPECT_EQ(attribution.how, profile::How::kCode);
  EXPECT_EQ(attribution.reason, profile::Reason::kNone);
  EXPECT_EQ(attribution.quality, profile::Quality::kExact);
  EXPECT_FALSE(attribution.kernel);
  EXPECT_EQ(attribution.plan, 1u);
  EXPECT_EQ(attribution.code, 11u);
  EXPECT_EQ(attribution.level, 2u);
  EXPECT_EQ(attribution.link, 3u << 1);
}

TEST_F(AttributeTest, Rule1QualityIsThatOfTheRow) {
  EXPECT_EQ(run(user_sample(ip_of(2))).quality, profile::Quality::kInferred);
  profile::Attribution prologue = run(user_sample(kCode));
  EXPECT_EQ(prologue.quality, profile::Quality::kPrologue);
  EXPECT_EQ(prologue.how, profile::How::kCode);
  EXPECT_EQ(prologue.link, 0u);
  ASSERT_TRUE(state.load_code(test::small_code(12, 1, 0x20000, 16, {{8, 2}}), 120).ok());
  EXPECT_EQ(run(user_sample(0x20000)).quality, profile::Quality::kUnmapped);
}

TEST_F(AttributeTest, Rule1BeatsTheTag) {
  EXPECT_EQ(run(tagged(user_sample(ip_of(1)), tag_of(2, 3))).link, 1u << 1);
}

TEST_F(AttributeTest, Rule1AReusedAddressGoesToTheCodeOfTheTime) {
  ASSERT_TRUE(state.load_plan(test::small_plan(2, 2, 1), 500).ok());
  ASSERT_TRUE(state.unload_code(11, 600).ok());
  ASSERT_TRUE(state.load_code(test::small_code(12, 2, kCode), 700).ok());
  EXPECT_EQ(run(user_sample(ip_of(1), 599)).plan, 1u);
  EXPECT_EQ(run(user_sample(ip_of(1), 600)).how, profile::How::kUnattributed);
  EXPECT_EQ(run(user_sample(ip_of(1), 699)).how, profile::How::kUnattributed);
  EXPECT_EQ(run(user_sample(ip_of(1), 700)).plan, 2u);
}

TEST_F(AttributeTest, Rule1UnloadedCodeStillGetsItsSamplesUntilTheWatermark) {
  ASSERT_TRUE(state.unload_code(11, 600).ok());
  state.trim(599);
  EXPECT_EQ(run(user_sample(ip_of(1), 599)).code, 11u);
}

TEST_F(AttributeTest, Rule2ATagNamesTheTask) {
  profile::Attribution attribution = run(tagged(user_sample(kLibrary), tag_of(2, 3)));
  EXPECT_EQ(attribution.how, profile::How::kTag);
  EXPECT_EQ(attribution.plan, 1u);
  EXPECT_EQ(attribution.level, 1u);
  EXPECT_EQ(attribution.link, 3u << 1);
  EXPECT_EQ(attribution.code, 0u);
}

TEST_F(AttributeTest, Rule2CodeOfTheEngineWithoutAPlanIsSharedCode) {
  ASSERT_TRUE(state.load_code(test::small_code(13, 0, 0x30000, 16, {}), 120).ok());
  profile::Attribution attribution = run(tagged(user_sample(0x30004), tag_of(2, 2)));
  EXPECT_EQ(attribution.how, profile::How::kTag);
  EXPECT_EQ(attribution.code, 13u);
  EXPECT_EQ(attribution.link, 2u << 1);
  EXPECT_EQ(run(user_sample(0x30004)).reason, profile::Reason::kUnknownUserCode);
}

TEST_F(AttributeTest, Rule3KernelModeGoesToTheUserIpThenToTheTag) {
  profile::Attribution by_ip = run(tagged(kernel_sample(ip_of(5)), tag_of(1, 1)));
  EXPECT_EQ(by_ip.how, profile::How::kKernelCode);
  EXPECT_TRUE(by_ip.kernel);
  EXPECT_EQ(by_ip.link, 5u << 1);
  profile::Attribution by_tag = run(tagged(kernel_sample(kLibrary), tag_of(2, 3)));
  EXPECT_EQ(by_tag.how, profile::How::kKernelTag);
  EXPECT_TRUE(by_tag.kernel);
  EXPECT_EQ(by_tag.link, 3u << 1);
}

TEST_F(AttributeTest, Rule4TheInnermostRegisteredFrameDecides) {
  profile::Attribution attribution = run(user_sample(kLibrary), {kLibrary + 100, ip_of(4), ip_of(1)});
  EXPECT_EQ(attribution.how, profile::How::kCallchain);
  EXPECT_EQ(attribution.link, 4u << 1);
  EXPECT_EQ(run(kernel_sample(kLibrary), {ip_of(4)}).how, profile::How::kCallchain);
  EXPECT_TRUE(run(kernel_sample(kLibrary), {ip_of(4)}).kernel);
}

TEST_F(AttributeTest, Rule4AReturnAddressBelongsToItsCall) {
  // The call is the last instruction of IR instruction 3: the return address is the first byte of 4.
  EXPECT_EQ(run(user_sample(kLibrary), {kCode + 40}).link, 3u << 1);
  // A call that ends the code object (to a function that does not return).
  EXPECT_EQ(run(user_sample(kLibrary), {kCode + 64}).link, 6u << 1);
  EXPECT_EQ(run(user_sample(kLibrary), {0, 1, kCode}).how, profile::How::kUnattributed);
}

TEST_F(AttributeTest, Rule4TheTagBeatsTheCallchain) {
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(2, 3)), {ip_of(1)}).how, profile::How::kTag);
}

TEST_F(AttributeTest, Rule5AComponentByIntervalThenByCode) {
  v1::ComponentDeclare declare;
  declare.set_id(4);
  declare.set_name("optimise");
  ASSERT_TRUE(state.declare_component(declare).ok());
  v1::ComponentCode code;
  code.set_id(4);
  code.set_begin(kLibrary);
  code.set_end(kLibrary + 0x100);
  ASSERT_TRUE(state.add_component_code(code).ok());

  profile::Attribution by_code = run(user_sample(kLibrary));
  EXPECT_EQ(by_code.how, profile::How::kComponentCode);
  EXPECT_EQ(by_code.engine_component, 4u);
  EXPECT_EQ(run(kernel_sample(kLibrary)).how, profile::How::kComponentCode);

  mark(TAILOR_LOG_COMPONENT_BEGIN, 900, 6);
  profile::Attribution by_interval = run(user_sample(kLibrary));
  EXPECT_EQ(by_interval.how, profile::How::kComponentInterval);
  EXPECT_EQ(by_interval.engine_component, 6u);
  EXPECT_EQ(by_interval.plan, 0u);
  // Operators come first.
  EXPECT_EQ(run(user_sample(ip_of(1))).how, profile::How::kCode);
  EXPECT_EQ(run(user_sample(ip_of(1))).engine_component, 0u);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(2, 3))).how, profile::How::kTag);
}

TEST_F(AttributeTest, Rule5WhatIsDoneBeforeTheAgentSpeaksIsTheStart) {
  for (const capture::Event& sample : {user_sample(kLibrary, 99), kernel_sample(kLibrary, 99)}) {
    profile::Attribution attribution = run(sample);
    EXPECT_EQ(attribution.how, profile::How::kComponentInterval);
    EXPECT_EQ(attribution.engine_component, process::kStartComponent);
    EXPECT_EQ(attribution.kernel, sample.mode != profile::Mode::kUser);
  }
  EXPECT_EQ(run(user_sample(kLibrary, 100)).reason, profile::Reason::kUnknownUserCode);
  state.stop_agent(500);
  EXPECT_EQ(run(user_sample(kLibrary, 500)).reason, profile::Reason::kNotRegistered);
  state.start_agent(2, 77, 600);
  EXPECT_EQ(run(user_sample(kLibrary, 550)).reason, profile::Reason::kNotRegistered)
      << "it had been there before";
}

TEST_F(AttributeTest, Rule6NamesItsReason) {
  EXPECT_EQ(run(user_sample(kLibrary)).reason, profile::Reason::kUnknownUserCode);
  process::ProcessState silent({42, 1}, {});
  EXPECT_EQ(attribute(user_sample(kLibrary), {}, &silent).reason, profile::Reason::kNotRegistered);
  EXPECT_EQ(run(kernel_sample(kLibrary)).reason, profile::Reason::kUnknownKernel);
  EXPECT_EQ(run(kernel_sample(0)).reason, profile::Reason::kUnknownKernel);
  EXPECT_EQ(run(user_sample(0)).reason, profile::Reason::kNoRegisters);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(1, 1) ^ 1)).reason, profile::Reason::kTagCheckFailed);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(1, 1, 9))).reason, profile::Reason::kTagPlanNotLive);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), 0)).reason, profile::Reason::kUnknownUserCode);
  EXPECT_EQ(attribute(user_sample(kLibrary), {}, nullptr).reason, profile::Reason::kNotRegistered);
  EXPECT_TRUE(attribute(kernel_sample(0), {}, nullptr).kernel);
}

TEST_F(AttributeTest, ARefusedTagLeavesNoReasonOnWhatIsFoundOtherwise) {
  profile::Attribution attribution = run(tagged(user_sample(kLibrary), 0xdead), {ip_of(4)});
  EXPECT_EQ(attribution.how, profile::How::kCallchain);
  EXPECT_EQ(attribution.reason, profile::Reason::kNone);
}

TEST_F(AttributeTest, TwoExecutionsOfTheSameCodeDoNotMix) {
  mark(TAILOR_LOG_EXECUTION_BEGIN, 200, 0, 501, 1, 77);
  mark(TAILOR_LOG_EXECUTION_BEGIN, 200, 0, 502, 1, 78);
  mark(TAILOR_LOG_PIPELINE_BEGIN, 210, 3, 0, 0, 78);
  capture::Event other = user_sample(ip_of(1));
  other.tid = 78;
  EXPECT_EQ(run(user_sample(ip_of(1))).execution, 501u);
  EXPECT_EQ(run(user_sample(ip_of(1))).pipeline, 0u);
  EXPECT_EQ(run(other).execution, 502u);
  EXPECT_EQ(run(other).pipeline, 3u);
  other.tid = 79;
  EXPECT_EQ(run(other).execution, 0u);
  EXPECT_EQ(run(other).plan, 1u);
}

// A thread that makes no marks: its tags say the plan, and the process says which executions run.
class TagsAlone : public AttributeTest {
 protected:
  TagsAlone() {
    v1::Plan plan = test::small_plan(2, 2, 1);
    plan.mutable_levels()->DeleteSubrange(1, plan.levels_size() - 1);
    plan.clear_pipelines();
    plan.set_tag_lower_level(0);
    plan.set_has_tag_lower_level(false);
    EXPECT_TRUE(state.load_plan(plan, 110).ok());
    v1::ComponentDeclare declare;
    declare.set_id(4);
    declare.set_name("executor");
    EXPECT_TRUE(state.declare_component(declare).ok());
    state.begin_execution(501, 2, 200);
  }
  profile::Attribution run_tag(std::uint32_t upper, std::uint32_t lower, TimeNs time = 1000) const {
    return run(tagged(user_sample(kLibrary, time), tag_of(upper, lower, 2)));
  }
};

TEST_F(TagsAlone, ATagOfOneLevelNamesAnEngineComponentThatWorksForThePlan) {
  const profile::Attribution found = run_tag(0, 4);
  EXPECT_EQ(found.how, profile::How::kComponentInterval);
  EXPECT_EQ(found.engine_component, 4u);
  EXPECT_EQ(found.plan, 0u) << "it is no work of the plan's components";
  EXPECT_EQ(found.execution, 501u);
  EXPECT_EQ(run(tagged(kernel_sample(kLibrary), tag_of(0, 4, 2))).engine_component, 4u);
}

TEST_F(TagsAlone, AComponentThatNobodyDeclaredIsNotBelieved) {
  EXPECT_EQ(run_tag(0, 5).how, profile::How::kUnattributed);
  EXPECT_EQ(run_tag(0, 0).how, profile::How::kUnattributed);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(0, 4, 2) ^ 1)).engine_component, 0u);
}

TEST_F(TagsAlone, WhereTagsNameTwoLevelsTheLowerFieldIsATask) {
  const profile::Attribution found = run(tagged(user_sample(kLibrary), tag_of(0, 3)));
  EXPECT_EQ(found.how, profile::How::kTag);
  EXPECT_EQ(found.link, 3u << 1);
  EXPECT_EQ(found.engine_component, 0u);
}

TEST_F(TagsAlone, TheOnlyExecutionOfThePlanGetsTheSample) {
  EXPECT_EQ(run_tag(1, 0).execution, 501u);
  EXPECT_EQ(run_tag(1, 0).plan, 2u);
  EXPECT_EQ(run_tag(1, 0, 199).execution, 0u) << "it had not begun";
  state.begin_execution(502, 2, 300);
  EXPECT_EQ(run_tag(1, 0).execution, 0u) << "it is of one of two";
  EXPECT_EQ(run_tag(0, 4).execution, 0u);
  EXPECT_FALSE(run_tag(1, 0).execution_lost) << "no mark was lost";
  state.end_execution(502, 900);
  EXPECT_EQ(run_tag(0, 4).execution, 501u);
  // A mark counts more.
  mark(TAILOR_LOG_EXECUTION_BEGIN, 400, 0, 502, 2);
  EXPECT_EQ(run_tag(1, 0, 500).execution, 502u);
}

TEST_F(TagsAlone, CodeOutsideOfAllMarksBelongsToNoExecution) {
  state.begin_execution(503, 1, 200);
  EXPECT_EQ(run(user_sample(ip_of(1))).plan, 1u);
  EXPECT_EQ(run(user_sample(ip_of(1))).execution, 0u);
}

TEST_F(AttributeTest, AnExecutionOfAnotherPlanDoesNotGetTheSample) {
  mark(TAILOR_LOG_EXECUTION_BEGIN, 200, 0, 501, 2);
  EXPECT_EQ(run(user_sample(ip_of(1))).execution, 0u);
  EXPECT_EQ(run(user_sample(ip_of(1))).plan, 1u);
  EXPECT_EQ(run(user_sample(kLibrary)).execution, 501u);
}

// The accuracy of the chain from address to owner, and its broken twin: an engine whose row table has two
// owners swapped. The check that passes for the first must fail for the second.
class KnownShares : public AttributeTest {
 protected:
  // Shares of the tasks over samples that hit every instruction in a known proportion.
  std::vector<int> shares() const {
    std::vector<int> hits(4);
    for (std::uint32_t ir = 1; ir <= 6; ++ir) {
      for (std::uint32_t n = 0; n < ir * 10; ++n) {
        profile::Attribution attribution = run(user_sample(ip_of(ir), 2000 + n));
        ++hits[(attribution.link >> 1) == 0 ? 0 : ((attribution.link >> 1) + 1) / 2];
      }
    }
    return hits;
  }
  static const std::vector<int>& truth() {
    static const std::vector<int> known = {0, 30, 70, 110};
    return known;
  }
};

TEST_F(KnownShares, AreFound) {
  EXPECT_EQ(shares(), truth());
}

TEST_F(KnownShares, ABuildWithTwoOwnersSwappedIsCaught) {
  ASSERT_TRUE(state.unload_code(11, 1500).ok());
  v1::CodeObject swapped = test::small_code(
      12, 1, kCode, 64, {{0, 0, v1::ROW_PROLOGUE}, {16, 6}, {24, 4}, {32, 2}, {40, 8}, {48, 10}, {56, 12}});
  ASSERT_TRUE(state.load_code(swapped, 1600).ok());
  EXPECT_NE(shares(), truth());
}

}  // namespace
}  // namespace tailor::attribute
