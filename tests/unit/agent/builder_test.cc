// The C builders write what protobuf reads, and what the daemon takes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tailor/dictionary.h>

#include <string>

#include "proto/base/sha256.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::agent::testing {
namespace {

using ::testing::ElementsAre;

// What a builder serialises, read by protobuf.
template <typename Message, typename Builder>
Message parsed(Builder* builder, std::size_t (*serialise)(Builder*, void*, std::size_t)) {
  std::string bytes(serialise(builder, nullptr, 0), '\0');
  EXPECT_EQ(serialise(builder, bytes.data(), bytes.size()), bytes.size());
  Message message;
  EXPECT_TRUE(message.ParseFromString(bytes));
  return message;
}

v1::Plan parsed(tailor_plan_builder* builder) {
  return parsed<v1::Plan>(builder, tailor_plan_builder_serialise);
}

v1::CodeObject parsed(tailor_code_builder* builder) {
  return parsed<v1::CodeObject>(builder, tailor_code_builder_serialise);
}

class PlanBuilderTest : public ::testing::Test {
 protected:
  void TearDown() override { tailor_plan_builder_free(plan_); }

  // Two operators, two steps, three instructions, of which the last has both steps for owners.
  void fill() {
    top_ = tailor_plan_builder_add_level(plan_, "operator");
    steps_ = tailor_plan_builder_add_level(plan_, "step");
    lowest_ = tailor_plan_builder_add_level(plan_, "ir");
    for (const char* name : {"Scan", "Sum"}) {
      std::uint32_t component = tailor_plan_builder_add_component(plan_, top_, name, "op");
      std::uint32_t step = tailor_plan_builder_add_component(plan_, steps_, name, "task");
      EXPECT_EQ(tailor_plan_builder_set_owners(plan_, steps_, step, &component, 1), 0);
    }
    EXPECT_EQ(tailor_plan_builder_add_input(plan_, top_, 2, 1), 0);
    EXPECT_EQ(tailor_plan_builder_add_components(plan_, lowest_, 3), 1u);
    const std::uint32_t both[] = {2, 1, 2};
    EXPECT_EQ(tailor_plan_builder_set_owners(plan_, lowest_, 1, both, 1), 0);
    EXPECT_EQ(tailor_plan_builder_set_owners(plan_, lowest_, 3, both, 3), 0);
  }

  tailor_plan_builder* plan_ = tailor_plan_builder_new("q \xFF");
  std::int32_t top_ = 0, steps_ = 0, lowest_ = 0;
};

TEST_F(PlanBuilderTest, WritesAPlanThatProtobufReads) {
  fill();
  std::uint32_t pipeline = tailor_plan_builder_add_pipeline(plan_, "p", steps_);
  std::uint32_t second = tailor_plan_builder_add_pipeline(plan_, nullptr, steps_);
  EXPECT_EQ(tailor_plan_builder_add_task(plan_, pipeline, 2), 0);
  EXPECT_EQ(tailor_plan_builder_add_dependency(plan_, second, pipeline), 0);
  EXPECT_EQ(tailor_plan_builder_set_text(plan_, top_, 1, "table", "lineitem"), 0);
  EXPECT_EQ(tailor_plan_builder_set_number(plan_, top_, 1, "estimated_rows", 6e6), 0);
  EXPECT_EQ(tailor_plan_builder_attach(plan_, "sql", "select 0", 8), 0);
  EXPECT_EQ(tailor_plan_builder_attach(plan_, "sql", "select 1", 8), 0);
  EXPECT_EQ(tailor_plan_builder_error(plan_), 0);

  v1::Plan plan = parsed(plan_);
  EXPECT_EQ(plan.name(), "q ?");
  ASSERT_EQ(plan.levels_size(), 3);
  EXPECT_EQ(plan.levels(0).name(), "operator");
  EXPECT_EQ(plan.levels(0).component_count(), 2u);
  EXPECT_EQ(plan.levels(0).components(1).name(), "Sum");
  EXPECT_EQ(plan.levels(0).components(1).kind(), "op");
  EXPECT_THAT(plan.levels(0).components(1).inputs(), ElementsAre(1));
  EXPECT_EQ(plan.levels(0).links_size(), 0);
  EXPECT_EQ(plan.levels(0).components(0).attributes(0).text(), "lineitem");
  EXPECT_EQ(plan.levels(0).components(0).attributes(1).key(), "estimated_rows");
  EXPECT_EQ(plan.levels(0).components(0).attributes(1).number(), 6e6);
  EXPECT_THAT(plan.levels(1).links(), ElementsAre(1 << 1, 2 << 1));
  EXPECT_THAT(plan.levels(2).links(), ElementsAre(2 << 1, 0, 0 << 1 | 1));
  EXPECT_EQ(plan.levels(2).components_size(), 0);
  ASSERT_EQ(plan.levels(2).link_sets_size(), 1);
  EXPECT_THAT(plan.levels(2).link_sets(0).ids(), ElementsAre(1, 2));
  EXPECT_THAT(plan.pipelines(0).tasks(), ElementsAre(2));
  EXPECT_EQ(plan.pipelines(0).task_level(), 1u);
  EXPECT_THAT(plan.pipelines(1).depends_on(), ElementsAre(1));
  ASSERT_EQ(plan.attachments_size(), 1);
  EXPECT_EQ(plan.attachments(0).content(), "select 1");
  Sha256Digest digest = sha256("select 1");
  EXPECT_EQ(plan.attachments(0).sha256(), std::string(digest.begin(), digest.end()));
  EXPECT_EQ(plan.tag_upper_level(), 0u);
  EXPECT_EQ(plan.tag_lower_level(), 1u);
  EXPECT_TRUE(plan.has_tag_lower_level());
}

TEST_F(PlanBuilderTest, OneLevelIsTaggedByItself) {
  tailor_plan_builder_add_level(plan_, "operator");
  EXPECT_EQ(parsed(plan_).tag_lower_level(), 0u);
  EXPECT_FALSE(parsed(plan_).has_tag_lower_level());
}

TEST_F(PlanBuilderTest, TheFirstErrorStays) {
  fill();
  EXPECT_EQ(tailor_plan_builder_add_component(plan_, 3, "x", "y"), 0u);
  EXPECT_EQ(tailor_plan_builder_error(plan_), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_component(plan_, top_, "x", "y"), 0u);
  EXPECT_EQ(tailor_plan_builder_add_level(plan_, "x"), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_load(plan_, 7), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_serialise(plan_, nullptr, 0), 0u);
}

TEST(PlanBuilder, WhatIsNotThereIsAnError) {
  const std::uint32_t one = 1, nine = 9;
  using Call = int (*)(tailor_plan_builder*, const std::uint32_t*, const std::uint32_t*);
  const Call wrong[] = {
      [](auto* p, auto* o, auto*) { return tailor_plan_builder_set_owners(p, 0, 1, o, 1); },
      [](auto* p, auto*, auto* n) { return tailor_plan_builder_set_owners(p, 1, 1, n, 1); },
      [](auto* p, auto* o, auto*) { return tailor_plan_builder_set_owners(p, 1, 9, o, 1); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_set_owners(p, 1, 1, nullptr, 1); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_add_input(p, 0, 1, 0); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_add_task(p, 1, 1); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_add_dependency(p, 1, 1); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_set_tag_levels(p, 1, 0); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_set_text(p, -1, 1, "k", "v"); },
      [](auto* p, auto*, auto*) { return tailor_plan_builder_attach(p, nullptr, "x", 1); },
  };
  for (Call call : wrong) {
    tailor_plan_builder* plan = tailor_plan_builder_new(nullptr);
    for (std::int32_t level = 0; level < 2; ++level) {
      tailor_plan_builder_add_level(plan, nullptr);
      tailor_plan_builder_add_component(plan, level, "c", nullptr);
    }
    EXPECT_EQ(call(plan, &one, &nine), -EINVAL);
    tailor_plan_builder_free(plan);
  }
}

TEST(Builders, TakeNull) {
  tailor_plan_builder_free(nullptr);
  EXPECT_EQ(tailor_plan_builder_error(nullptr), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_level(nullptr, "x"), -EINVAL);
  EXPECT_EQ(tailor_plan_builder_add_component(nullptr, 0, "x", "y"), 0u);
  EXPECT_EQ(tailor_plan_builder_load(nullptr, 1), -EINVAL);
  tailor_code_builder_free(nullptr);
  EXPECT_EQ(tailor_code_builder_add_row(nullptr, 0, nullptr, 0, 0), -EINVAL);
  EXPECT_EQ(tailor_code_builder_load(nullptr, 1), -EINVAL);
}

TEST(CodeBuilder, WritesCodeThatProtobufReads) {
  const char code[16] = "0123456789abcde";
  const std::uint32_t one = 5, both[] = {6, 5};
  tailor_code_builder* builder = tailor_code_builder_new(3, code, sizeof(code));
  EXPECT_EQ(tailor_code_builder_set_name(builder, "q17"), 0);
  EXPECT_EQ(tailor_code_builder_set_tier(builder, "O2"), 0);
  EXPECT_EQ(tailor_code_builder_add_row(builder, 0, nullptr, 0, TAILOR_ROW_PROLOGUE), 0);
  EXPECT_EQ(tailor_code_builder_add_row(builder, 4, both, 2, TAILOR_ROW_EXACT), 0);
  EXPECT_EQ(tailor_code_builder_add_row(builder, 6, both, 2, TAILOR_ROW_SHARED), 0);  // says the same
  EXPECT_EQ(tailor_code_builder_add_row(builder, 8, nullptr, 0, TAILOR_ROW_EXACT), 0);
  EXPECT_EQ(tailor_code_builder_add_row(builder, 8, &one, 1, TAILOR_ROW_INFERRED), 0);  // instead
  EXPECT_EQ(tailor_code_builder_add_symbol(builder, 4, 12, "loop"), 0);
  EXPECT_EQ(tailor_code_builder_set_eh_frame(builder, "eh", 2, code + 1), 0);
  v1::CodeObject object = parsed(builder);
  EXPECT_EQ(object.plan_id(), 3u);
  EXPECT_EQ(object.base(), reinterpret_cast<std::uintptr_t>(code));
  EXPECT_EQ(object.code(), std::string(code, sizeof(code)));
  EXPECT_EQ(object.name(), "q17");
  EXPECT_EQ(object.tier(), "O2");
  EXPECT_THAT(object.rows().offset_delta(), ElementsAre(0, 4, 4));
  EXPECT_THAT(object.rows().link_delta(), ElementsAre(0, 1, (5 << 1) - 1));
  EXPECT_EQ(object.rows().flags(), std::string({3, 2, 1}));
  ASSERT_EQ(object.rows().link_sets_size(), 1);
  EXPECT_THAT(object.rows().link_sets(0).ids(), ElementsAre(5, 6));
  EXPECT_EQ(object.symbols(0).name(), "loop");
  EXPECT_EQ(object.symbols(0).size(), 12u);
  EXPECT_EQ(object.eh_frame(), "eh");
  EXPECT_EQ(object.eh_frame_address(), reinterpret_cast<std::uintptr_t>(code + 1));
  EXPECT_EQ(tailor_code_builder_set_code(builder, "fedcba9876543210", 16), 0);
  EXPECT_EQ(parsed(builder).code(), "fedcba9876543210");
  EXPECT_EQ(tailor_code_builder_add_row(builder, 7, &one, 1, 0), -EINVAL);  // goes back
  tailor_code_builder_free(builder);
}

TEST(CodeBuilder, RefusesWhatCannotBe) {
  tailor_code_builder* empty = tailor_code_builder_new(1, "x", 0);
  EXPECT_EQ(tailor_code_builder_error(empty), -EINVAL);
  tailor_code_builder_free(empty);
  tailor_code_builder* large = tailor_code_builder_new(1, "x", std::size_t{1} << 40);
  EXPECT_EQ(tailor_code_builder_load(large, 1), -E2BIG);
  tailor_code_builder_free(large);
}

}  // namespace
}  // namespace tailor::agent::testing
