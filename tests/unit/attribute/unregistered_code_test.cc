// Code that a process generated and that nobody registered: the register's tag is that of a neighbour there.
#include <gtest/gtest.h>

#include "daemon/capture/decode/agent_tag.h"
#include "tests/unit/attribute/fixture.h"

namespace tailor::attribute {
namespace {

class UnregisteredCode : public AttributeTest {
 protected:
  static constexpr std::uint64_t kOwn = 0x40000;  // of a pipeline that forgot to register
  UnregisteredCode() {
    state.generated().add_file(kLibrary, 0x1000);
    state.generated().add(kCode, 0x1000);
    state.generated().add(kOwn, 0x1000);
  }
  void declare(std::uint32_t id) {
    v1::ComponentDeclare declare;
    declare.set_id(id);
    declare.set_name("regular expressions");
    ASSERT_TRUE(state.declare_component(declare).ok());
  }
  capture::Event with_a_neighbours_tag(std::uint64_t ip) const {
    return tagged(user_sample(ip), tag_of(2, 3));
  }
};

TEST_F(UnregisteredCode, HasNoOwnerWhateverTheRegisterSays) {
  mark(TAILOR_LOG_EXECUTION_BEGIN, 500, 0, 9, 1);
  mark(TAILOR_LOG_PIPELINE_BEGIN, 500, 4);
  const profile::Attribution attribution = run(with_a_neighbours_tag(kOwn + 8));
  EXPECT_EQ(attribution.how, profile::How::kUnattributed);
  EXPECT_EQ(attribution.reason, profile::Reason::kUnregisteredCode);
  EXPECT_EQ(attribution.plan, 0u);
  EXPECT_EQ(attribution.link, 0u);
  EXPECT_EQ(attribution.execution, 9u) << "marks are true";
  EXPECT_EQ(attribution.pipeline, 4u);
}

// The twin: where nothing is known of the memory, the neighbour has it.
TEST_F(UnregisteredCode, WithoutItsMemoryTheNeighbourHasIt) {
  state.generated().clear();
  const profile::Attribution attribution = run(with_a_neighbours_tag(kOwn + 8));
  EXPECT_EQ(attribution.how, profile::How::kTag);
  EXPECT_EQ(attribution.link, 3u << 1);
}

TEST_F(UnregisteredCode, OtherCodeIsAsBefore) {
  EXPECT_EQ(run(with_a_neighbours_tag(kLibrary)).how, profile::How::kTag) << "shared code";
  EXPECT_EQ(run(with_a_neighbours_tag(kLibrary + 0x100000)).how, profile::How::kTag)
      << "nothing is known of it";
  EXPECT_EQ(run(with_a_neighbours_tag(ip_of(1))).how, profile::How::kCode);
  EXPECT_EQ(run(user_sample(kLibrary)).reason, profile::Reason::kUnknownUserCode);
}

TEST_F(UnregisteredCode, KernelModeIsThatOfTheCodeThatEnteredIt) {
  const profile::Attribution attribution = run(tagged(kernel_sample(kOwn), tag_of(2, 3)));
  EXPECT_EQ(attribution.reason, profile::Reason::kUnregisteredCode);
  EXPECT_TRUE(attribution.kernel);
}

TEST_F(UnregisteredCode, ATagThatWasUnwoundIsNotItsEither) {
  capture::Event event = with_a_neighbours_tag(kOwn);
  event.tag_from = static_cast<std::uint8_t>(capture::TagFrom::kUnwound);
  EXPECT_EQ(run(event).reason, profile::Reason::kUnregisteredCode);
}

// Also without a tag, or with something that is none: the cause is where it is.
TEST_F(UnregisteredCode, IsTheReasonBeforeAllThatTagsSay) {
  EXPECT_EQ(run(user_sample(kOwn)).reason, profile::Reason::kUnregisteredCode);
  EXPECT_EQ(run(tagged(user_sample(kOwn), 0xdead)).reason, profile::Reason::kUnregisteredCode);
  EXPECT_EQ(run(tagged(user_sample(kOwn), tag_of(1, 1, 9))).reason, profile::Reason::kUnregisteredCode);
  state.stop_agent(800);
  EXPECT_EQ(run(user_sample(kOwn)).reason, profile::Reason::kNotRegistered);
}

TEST_F(UnregisteredCode, AnEngineComponentsTagIsNotBelievedEither) {
  declare(4);
  v1::Plan plan = test::small_plan(2, 2, 1);
  plan.set_has_tag_lower_level(false);
  ASSERT_TRUE(state.load_plan(plan, 200).ok());
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(0, 4, 2))).engine_component, 4u);
  EXPECT_EQ(run(tagged(user_sample(kOwn), tag_of(0, 4, 2))).reason, profile::Reason::kUnregisteredCode);
}

// A linker's jumps run for whoever calls.
TEST_F(UnregisteredCode, StubsOfCodeAreShared) {
  v1::CodeObject code = test::small_code(13, 1, 0x50000);
  auto* stubs = code.add_stubs();
  stubs->set_address(kOwn + 0x100);
  stubs->set_size(12);
  ASSERT_TRUE(state.load_code(code, 120).ok());
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 0x106)).how, profile::How::kTag);
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 0x10C)).reason, profile::Reason::kUnregisteredCode);
  ASSERT_TRUE(state.unload_code(13, 900).ok());
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 0x106)).reason, profile::Reason::kUnregisteredCode);
  stubs->set_address(UINT64_MAX);
  EXPECT_FALSE(state.load_code(code, 1000).ok());
}

// What calls and marks tell stays true.
TEST_F(UnregisteredCode, GoesToItsCallerOrToAComponentThatWorks) {
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn), {ip_of(4)}).how, profile::How::kCallchain);
  mark(TAILOR_LOG_COMPONENT_BEGIN, 900, 6);
  const profile::Attribution attribution = run(with_a_neighbours_tag(kOwn));
  EXPECT_EQ(attribution.how, profile::How::kComponentInterval);
  EXPECT_EQ(attribution.engine_component, 6u);
}

// A library that compiles for itself works for an operator: the engine says so once.
TEST_F(UnregisteredCode, WhatIsDeclaredAsSharedIsTagged) {
  ASSERT_TRUE(state.load_code(test::small_code(13, 0, kOwn, 16, {}), 120).ok());
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 4)).how, profile::How::kTag);
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 0x800)).reason, profile::Reason::kUnregisteredCode);
  declare(4);
  v1::ComponentCode code;
  code.set_id(4);
  code.set_begin(kOwn + 0x800);
  code.set_end(kOwn + 0x900);
  ASSERT_TRUE(state.add_component_code(code).ok());
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn + 0x800)).how, profile::How::kTag);
  EXPECT_EQ(run(user_sample(kOwn + 0x800)).how, profile::How::kComponentCode);
}

// A slot keeps the task's tag while its own code runs.
TEST_F(UnregisteredCode, ATagInASlotIsItsOwn) {
  state.set_tags_in_memory(true);
  EXPECT_EQ(run(with_a_neighbours_tag(kOwn)).how, profile::How::kTag);
  EXPECT_EQ(run(user_sample(kOwn)).reason, profile::Reason::kUnregisteredCode);
}

TEST_F(UnregisteredCode, CodeCountsFromItsLoadToItsUnload) {
  ASSERT_TRUE(state.load_code(test::small_code(13, 1, kOwn), 700).ok());
  ASSERT_TRUE(state.unload_code(13, 900).ok());
  EXPECT_EQ(run(user_sample(kOwn + 20, 699)).reason, profile::Reason::kUnregisteredCode);
  EXPECT_EQ(run(user_sample(kOwn + 20, 700)).how, profile::How::kCode);
  EXPECT_EQ(run(user_sample(kOwn + 20, 900)).reason, profile::Reason::kUnregisteredCode);
}

}  // namespace
}  // namespace tailor::attribute
