// Code of jitdumps and perf maps beyond what a process may keep in the daemon: readers hear of it all the
// same.
#include <gtest/gtest.h>

#include "daemon/profile/forwarding_sink.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

class CodeCounter : public profile::ForwardingSink {
 public:
  using ForwardingSink::ForwardingSink;
  void on_code(ProcessId, TimeNs, const v1::CodeObject& code) override {
    ++codes;
    last = code.id();
    agents += code.told_by() == v1::TOLD_BY_AGENT ? 1 : 0;
  }
  std::size_t codes = 0, agents = 0;
  CodeId last = 0;
};

class ForeignCodeTest : public testing::Test {
 protected:
  static constexpr ProcessId kProcess{42, 7};

  explicit ForeignCodeTest(const PipelineOptions& options = {}) : pipeline(counter, options) {
    script.open();
  }
  void hello(std::uint64_t connection) {
    script.hello(kProcess, connection, 1000);
    v1::Plan plan;
    plan.set_id(1);
    plan.add_levels()->set_name("function");
    plan.mutable_levels(0)->set_component_count(1);
    script.load(kProcess, 1000, plan);
    code.set_plan_id(1);
    code.set_size(0x40);
    code.set_told_by(v1::TOLD_BY_PERF_MAP);
    code.mutable_rows()->add_offset_delta(0);
    code.mutable_rows()->add_link_delta(2);
    code.mutable_rows()->set_flags(std::string(1, static_cast<char>(v1::ROW_INFERRED)));
  }
  void tell_up_to(std::uint64_t last) {
    while (told < last) {
      code.set_id(++told);
      code.set_base(0x10000 + 0x40 * told);
      script.load(kProcess, 2000, code);
    }
  }
  std::uint64_t rejected() {
    pipeline.flush(1'000'000);
    return sink.accounting.at(kProcess).messages_rejected;
  }

  test::CollectingSink sink;
  CodeCounter counter{sink};
  Pipeline pipeline;
  test::ScriptedInput script{pipeline};
  v1::CodeObject code;
  std::uint64_t told = 0;
};

TEST_F(ForeignCodeTest, WhatThereIsNoRoomForIsToldUpToAMillion) {
  const process::Limits limits;
  hello(registration::kSpeakers + 1);
  tell_up_to(limits.code_objects + 1);
  EXPECT_EQ(counter.codes, limits.code_objects + 1);
  tell_up_to(limits.foreign_codes);
  EXPECT_EQ(counter.codes, std::size_t{1} << 20);
  EXPECT_EQ(rejected(), 0u);
  tell_up_to(limits.foreign_codes + 1);
  EXPECT_EQ(counter.codes, std::size_t{1} << 20);
  EXPECT_EQ(rejected(), 1u);
  const auto problems = pipeline.take_problems();
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].text.find("1048576 functions of jitdumps and perf maps are named already"),
            std::string::npos)
      << problems[0].text;
}

class SmallForeignCodeTest : public ForeignCodeTest {
 protected:
  static PipelineOptions small() {
    PipelineOptions options;
    options.limits.code_objects = 4;
    options.limits.user_code_bytes = 1024 * sizeof(process::CodeRow);
    return options;
  }
  SmallForeignCodeTest() : ForeignCodeTest(small()) {}
};

// Nobody else would hear of it: the agent says it again when there is room.
TEST_F(SmallForeignCodeTest, AnAgentsCodeIsNotTold) {
  hello(1);
  tell_up_to(6);
  EXPECT_EQ(counter.codes, 4u);
  EXPECT_EQ(counter.agents, 4u);
  EXPECT_EQ(rejected(), 2u);
}

TEST_F(SmallForeignCodeTest, ItCountsForWhatItsUserMayHave) {
  hello(registration::kSpeakers + 1);
  tell_up_to(2000);
  EXPECT_GT(counter.codes, 4u);
  EXPECT_LE(counter.codes, 1024u);
  EXPECT_EQ(rejected(), 2000 - counter.codes);
}

}  // namespace
}  // namespace tailor::pipeline
