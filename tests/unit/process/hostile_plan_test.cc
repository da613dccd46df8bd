#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "daemon/process/plan_state.h"
#include "tests/support/engine_messages.h"

namespace tailor::process {
namespace {

using test::small_plan;

TEST(CheckPlan, TakesAGoodOne) {
  Result<PlanState> plan = check_plan(small_plan(7, 3, 2), {});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(plan->id, 7u);
  EXPECT_EQ(plan->slot, 3u);
  EXPECT_EQ(plan->component_counts, (std::vector<std::uint32_t>{2, 3, 6}));
}

TEST(CheckPlan, InputsMayBeShared) {
  v1::Plan plan = small_plan(1);
  plan.mutable_levels(0)->mutable_components(1)->add_inputs(1);  // a self-join of one scan
  EXPECT_TRUE(check_plan(plan, {}).ok());
}

// A few bytes may claim any number: what checking takes must not grow with it.
TEST(CheckPlan, ComponentsOfWhichNothingIsSaidAreFew) {
  v1::Plan plan;
  plan.set_id(1);
  plan.add_levels()->set_component_count(65536);
  EXPECT_TRUE(check_plan(plan, {}).ok());
  plan.mutable_levels(0)->set_component_count(65537);
  Result<PlanState> checked = check_plan(plan, {});
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message.find("without a description"), std::string::npos)
      << checked.error().message;
}

struct Harm {
  std::string name;
  std::function<void(v1::Plan&)> change;
};

class HostilePlan : public testing::TestWithParam<Harm> {};

TEST_P(HostilePlan, IsRefusedWithAReason) {
  v1::Plan plan = small_plan(1);
  GetParam().change(plan);
  Result<PlanState> checked = check_plan(plan, {});
  ASSERT_FALSE(checked.ok());
  EXPECT_NE(checked.error().message, "");
}

INSTANTIATE_TEST_SUITE_P(
    All, HostilePlan,
    testing::Values(
        Harm{"NoId", [](v1::Plan& p) { p.set_id(0); }}, Harm{"Slot", [](v1::Plan& p) { p.set_slot(65536); }},
        Harm{"Generation", [](v1::Plan& p) { p.set_generation(16); }},
        Harm{"NoLevels", [](v1::Plan& p) { p.clear_levels(); }},
        Harm{"ManyLevels",
             [](v1::Plan& p) {
               for (int i = 0; i < 20; ++i) p.add_levels();
             }},
        Harm{"TagUpperLevel", [](v1::Plan& p) { p.set_tag_upper_level(3); }},
        Harm{"TagLowerLevel", [](v1::Plan& p) { p.set_tag_lower_level(9); }},
        Harm{"AbsurdCount", [](v1::Plan& p) { p.mutable_levels(0)->set_component_count(UINT32_MAX); }},
        Harm{"FewLinks", [](v1::Plan& p) { p.mutable_levels(1)->mutable_links()->RemoveLast(); }},
        Harm{"LinkTooFar", [](v1::Plan& p) { p.mutable_levels(2)->set_links(0, 4 << 1); }},
        Harm{"NoSuchSet", [](v1::Plan& p) { p.mutable_levels(2)->set_links(0, 1); }},
        Harm{"EmptySet", [](v1::Plan& p) { p.mutable_levels(2)->add_link_sets(); }},
        Harm{"SetTooFar", [](v1::Plan& p) { p.mutable_levels(2)->add_link_sets()->add_ids(4); }},
        Harm{"SetOfNothing", [](v1::Plan& p) { p.mutable_levels(2)->add_link_sets()->add_ids(0); }},
        Harm{"ComponentTooFar", [](v1::Plan& p) { p.mutable_levels(0)->mutable_components(0)->set_id(3); }},
        Harm{"ComponentTwice", [](v1::Plan& p) { p.mutable_levels(0)->mutable_components(0)->set_id(2); }},
        Harm{"InputTooFar", [](v1::Plan& p) { p.mutable_levels(0)->mutable_components(1)->add_inputs(3); }},
        Harm{"InputOfItself", [](v1::Plan& p) { p.mutable_levels(0)->mutable_components(1)->add_inputs(2); }},
        Harm{"InputCycle", [](v1::Plan& p) { p.mutable_levels(0)->mutable_components(0)->add_inputs(2); }},
        Harm{"PipelineNoId", [](v1::Plan& p) { p.mutable_pipelines(0)->set_id(0); }},
        Harm{"PipelineBigId", [](v1::Plan& p) { p.mutable_pipelines(0)->set_id(65536); }},
        Harm{"PipelineTwice", [](v1::Plan& p) { p.add_pipelines()->set_id(1); }},
        Harm{"TaskLevel", [](v1::Plan& p) { p.mutable_pipelines(0)->set_task_level(3); }},
        Harm{"TaskTooFar", [](v1::Plan& p) { p.mutable_pipelines(0)->add_tasks(4); }},
        Harm{"DependsOnNothing", [](v1::Plan& p) { p.mutable_pipelines(0)->add_depends_on(2); }},
        Harm{"DependsOnItself", [](v1::Plan& p) { p.mutable_pipelines(0)->add_depends_on(1); }}),
    [](const auto& harm) { return harm.param.name; });

// A chain as long as a level allows must not overflow the stack of whoever walks it.
TEST(CheckPlan, DeepPlansAreWalkedWithoutRecursion) {
  v1::Plan plan;
  plan.set_id(1);
  v1::Level* level = plan.add_levels();
  const std::uint32_t count = 300'000;
  level->set_component_count(count);
  for (std::uint32_t id = 1; id <= count; ++id) {
    v1::Component* component = level->add_components();
    component->set_id(id);
    if (id < count) component->add_inputs(id + 1);
  }
  EXPECT_TRUE(check_plan(plan, {}).ok());
}

}  // namespace
}  // namespace tailor::process
