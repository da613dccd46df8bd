#include "daemon/query/load/plan_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

std::map<ComponentId, double> as_map(const Owners& owners) {
  std::map<ComponentId, double> out;
  for (const Share& share : owners) out[share.id] = share.part;
  return out;
}

using Parts = std::map<ComponentId, double>;

class SamplePlan : public testing::Test {
 protected:
  PlanModel model_{test::sample_plan()};
  std::vector<Owners> of_ir(std::uint32_t ir) { return model_.lineage(2, ir << 1, {}); }
};

TEST_F(SamplePlan, OneOwnerAllTheWay) {
  const auto lineage = of_ir(4);
  ASSERT_EQ(lineage.size(), 3u);
  EXPECT_EQ(as_map(lineage[2]), (Parts{{4, 1}}));
  EXPECT_EQ(as_map(lineage[1]), (Parts{{4, 1}}));
  EXPECT_EQ(as_map(lineage[0]), (Parts{{5, 1}}));
}

TEST_F(SamplePlan, SharedCostIsSplitEvenly) {
  const auto lineage = of_ir(8);
  EXPECT_EQ(as_map(lineage[2]), (Parts{{8, 1}}));
  EXPECT_EQ(as_map(lineage[1]), (Parts{{5, 0.5}, {6, 0.5}}));
  EXPECT_EQ(as_map(lineage[0]), (Parts{{1, 0.5}, {2, 0.5}}));
}

TEST_F(SamplePlan, OwnersThatMeetAgainAreNotShared) {
  const auto lineage = of_ir(9);
  EXPECT_EQ(as_map(lineage[1]), (Parts{{1, 0.5}, {5, 0.5}}));
  EXPECT_EQ(as_map(lineage[0]), (Parts{{2, 1}}));
}

TEST_F(SamplePlan, CodeWithoutOwner) {
  EXPECT_EQ(as_map(of_ir(10)[0]), (Parts{{0, 1}}));
  EXPECT_EQ(as_map(of_ir(0)[0]), (Parts{{0, 1}}));
  EXPECT_EQ(as_map(of_ir(999)[0]), (Parts{{0, 1}}));
}

TEST_F(SamplePlan, SplitIsAtTheLowestLink) {
  // Three instructions, two of one operator: two thirds of the cost are that operator's, not one half.
  LinkSets sets;
  for (std::uint32_t id : {5, 6, 7}) {
    if (sets.empty()) sets.Add();
    sets.Mutable(0)->add_ids(id);
  }
  const auto lineage = model_.lineage(2, 1, sets);
  const Parts top = as_map(lineage[0]);
  EXPECT_NEAR(top.at(1), 2.0 / 3, 1e-12);
  EXPECT_NEAR(top.at(2), 1.0 / 3, 1e-12);
}

TEST_F(SamplePlan, SetsOfTheCodeObjectAreNotThoseOfTheLevel) {
  const v1::CodeObject code = test::sample_code();
  EXPECT_EQ(as_map(model_.lineage(2, 1, code.rows().link_sets())[0]), (Parts{{1, 0.5}, {5, 0.5}}));
}

TEST_F(SamplePlan, TreeFollowsTheInputs) {
  std::vector<std::pair<ComponentId, std::uint32_t>> drawn;
  for (const auto& node : model_.tree()) drawn.emplace_back(node.id, node.depth);
  EXPECT_THAT(drawn, testing::ElementsAre(testing::Pair(1, 0), testing::Pair(2, 1), testing::Pair(3, 2),
                                          testing::Pair(4, 3), testing::Pair(5, 2)));
  EXPECT_FALSE(model_.tree()[2].last);
  EXPECT_TRUE(model_.tree()[3].last);
  EXPECT_TRUE(model_.tree()[4].last);
}

TEST_F(SamplePlan, PipelineOfATask) {
  EXPECT_EQ(model_.pipeline_of(1, 1), 1u);
  EXPECT_EQ(model_.pipeline_of(1, 6), 2u);
  EXPECT_EQ(model_.pipeline_of(1, 99), 0u);
  EXPECT_EQ(model_.pipeline_of(0, 1), 0u);
}

v1::Plan with_inputs(std::initializer_list<std::initializer_list<std::uint32_t>> inputs) {
  v1::Plan plan;
  v1::Level& level = *plan.add_levels();
  level.set_name("operator");
  level.set_component_count(static_cast<std::uint32_t>(inputs.size()));
  std::uint32_t id = 0;
  for (const auto& of_one : inputs) {
    v1::Component& component = *level.add_components();
    component.set_id(++id);
    for (std::uint32_t input : of_one) component.add_inputs(input);
  }
  return plan;
}

std::vector<ComponentId> drawn(const PlanModel& model) {
  std::vector<ComponentId> ids;
  for (const auto& node : model.tree()) ids.push_back(node.id);
  return ids;
}

TEST(HostilePlan, CyclesAndSharedInputsAreDrawnOnce) {
  EXPECT_THAT(drawn(PlanModel(with_inputs({{2}, {3}, {1}}))), testing::UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(drawn(PlanModel(with_inputs({{1}}))), testing::ElementsAre(1));
  EXPECT_THAT(drawn(PlanModel(with_inputs({{2, 3}, {3}, {}}))), testing::UnorderedElementsAre(1, 2, 3));
  EXPECT_THAT(drawn(PlanModel(with_inputs({{0, 77, 2, 2}, {}}))), testing::ElementsAre(1, 2));
}

TEST(HostilePlan, DeepChainsDoNotOverflowTheStack) {
  v1::Plan plan;
  v1::Level& level = *plan.add_levels();
  constexpr std::uint32_t kDeep = 60'000;
  level.set_component_count(kDeep);
  for (std::uint32_t id = 1; id <= kDeep; ++id) {
    v1::Component& component = *level.add_components();
    component.set_id(id);
    if (id < kDeep) component.add_inputs(id + 1);
  }
  EXPECT_EQ(PlanModel(plan).tree().size(), kDeep);
}

TEST(HostilePlan, ClaimsCostNoMemory) {
  v1::Plan plan;
  for (int i = 0; i < 1000; ++i) {
    v1::Level& level = *plan.add_levels();
    level.set_component_count(UINT32_MAX);
    level.add_components()->set_id(UINT32_MAX);
    level.add_components()->set_id(0);
  }
  v1::Pipeline& pipeline = *plan.add_pipelines();
  pipeline.set_task_level(UINT32_MAX);
  const PlanModel model(plan);
  EXPECT_GT(model.broken_links(), 0u);
  EXPECT_LE(model.level_count(), 64u);
  EXPECT_TRUE(model.tree().empty());
  v1::Plan two = with_inputs({{5}});
  two.mutable_levels(0)->set_component_count(1 << 22);
  EXPECT_THAT(drawn(PlanModel(two)), testing::ElementsAre(1, 5));
}

// Whatever links say, the parts of a cost add up to the cost on every level.
TEST(HostilePlan, PartsAlwaysAddUpToOne) {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    v1::Plan plan;
    const int levels = 1 + static_cast<int>(random() % 5);
    for (int l = 0; l < levels; ++l) {
      v1::Level& level = *plan.add_levels();
      level.set_component_count(1 + random() % 8);
      for (std::uint32_t i = 0; i < level.component_count(); ++i) level.add_links(random() % 20);
      for (std::uint32_t s = 0; s < 4; ++s) {
        v1::LinkSet& set = *level.add_link_sets();
        for (std::uint32_t n = random() % 5; n > 0; --n) set.add_ids(random() % 10);
      }
    }
    const PlanModel model(plan);
    for (std::uint32_t link = 0; link < 20; ++link) {
      const auto level = static_cast<LevelIndex>(random() % static_cast<unsigned>(levels));
      const auto lineage = model.lineage(level, link, plan.levels(static_cast<int>(level)).link_sets());
      ASSERT_EQ(lineage.size(), level + 1);
      for (const Owners& owners : lineage) {
        double sum = 0;
        for (const Share& share : owners) sum += share.part;
        ASSERT_NEAR(sum, 1, 1e-9);
      }
    }
  }
}

TEST(Levels, TwoAndFive) {
  for (std::uint32_t levels : {2u, 5u}) {
    v1::Plan plan;
    for (std::uint32_t l = 0; l < levels; ++l) {
      v1::Level& level = *plan.add_levels();
      level.set_name("level" + std::to_string(l));
      level.set_component_count(3);
      if (l > 0) {
        for (std::uint32_t id : {2u, 3u, 1u}) level.add_links(id << 1);
      }
    }
    const auto lineage = PlanModel(plan).lineage(levels - 1, 1 << 1, {});
    ASSERT_EQ(lineage.size(), levels);
    EXPECT_EQ(as_map(lineage[0]), (Parts{{1 + (levels - 1) % 3, 1}}));
  }
}

}  // namespace
}  // namespace tailor::query
