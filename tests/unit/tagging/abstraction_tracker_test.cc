#include "compiler/tagging/abstraction_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/tagging/lowering_step.h"

namespace tailor::tagging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AbstractionTracker, InnermostScopeIsActive) {
  AbstractionTracker tracker;
  EXPECT_THAT(tracker.active(), IsEmpty());
  {
    auto join = tracker.enter(1);
    EXPECT_THAT(tracker.active(), ElementsAre(1));
    {
      const ComponentId both[] = {2, 3};
      auto fused = tracker.enter(both);
      EXPECT_THAT(tracker.active(), ElementsAre(2, 3));
    }
    EXPECT_THAT(tracker.active(), ElementsAre(1));
  }
  EXPECT_THAT(tracker.active(), IsEmpty());
}

TEST(AbstractionTracker, MovedScopeLeavesOnce) {
  AbstractionTracker tracker;
  auto outer = tracker.enter(1);
  {
    auto a = tracker.enter(2);
    auto b = std::move(a);
    EXPECT_EQ(tracker.depth(), 2u);
  }
  EXPECT_EQ(tracker.depth(), 1u);
}

// Produce and consume of three fused operators: a scan, a filter and a join that consume in turn.
TEST(LoweringStep, FusedOperatorsKeepTheirTasks) {
  DictionaryBuilder plan("q", {"operator", "task", "ir"});
  ComponentId scan = plan.add(0, {.name = "Scan"});
  ComponentId join = plan.add(0, {.name = "Join", .inputs = {scan}});
  LoweringStep step(plan, 0, 1);
  auto in_join = step.tracker().enter(join);
  ComponentId build = step.emit({.name = "Build"});
  ComponentId read;
  {
    auto in_scan = step.tracker().enter(scan);
    read = step.emit({.name = "Read"});
  }
  ComponentId probe = step.emit({.name = "Probe"});
  EXPECT_THAT(plan.owners(1, build), ElementsAre(join));
  EXPECT_THAT(plan.owners(1, read), ElementsAre(scan));
  EXPECT_THAT(plan.owners(1, probe), ElementsAre(join));
}

// A dataflow program over a cluster: five levels, a step between each two. Components bring their attributes
// along, and what is emitted under two owners descends from both, on every level above.
TEST(LoweringStep, StepsOfAnyNumberOfLevelsCarryAttributesAndSets) {
  const std::vector<std::string> names = {"program", "operator", "task", "ir", "vector"};
  DictionaryBuilder plan("p", names);
  const ComponentId loop = plan.add(0, {.name = "loop", .attributes = {{"most_iterations", 100.0}}});
  const ComponentId output = plan.add(0, {.name = "output"});
  std::vector<std::vector<ComponentId>> active = {{loop, output}};
  for (LevelIndex lower = 1; lower < names.size(); ++lower) {
    LoweringStep step(plan, lower - 1, lower);
    const ComponentId own = [&] {
      auto scope = step.tracker().enter(active.back().front());
      return step.emit({.name = names[lower], .attributes = {{"of", "one"}}});
    }();
    auto scope = step.tracker().enter(active.back());
    const ComponentId fused = step.emit({.name = names[lower] + " of both", .attributes = {{"owners", 2.0}}});
    active.push_back({own, fused});
  }
  const v1::Plan out = plan.build({});
  ASSERT_EQ(out.levels_size(), 5);
  EXPECT_EQ(out.levels(0).components(0).attributes(0).number(), 100.0);
  for (LevelIndex level = 1; level < names.size(); ++level) {
    const v1::Level& written = out.levels(static_cast<int>(level));
    EXPECT_EQ(written.components(0).attributes(0).key(), "of") << level;
    EXPECT_EQ(written.components(0).attributes(0).text(), "one") << level;
    EXPECT_EQ(written.components(1).attributes(0).number(), 2.0) << level;
    EXPECT_THAT(plan.owners_at(level, active[level][0], 0), ElementsAre(loop)) << level;
    EXPECT_THAT(plan.owners_at(level, active[level][1], 0), ElementsAre(loop, output)) << level;
    EXPECT_THAT(plan.owners(level, active[level][1]),
                ElementsAre(active[level - 1][0], active[level - 1][1]));
  }
}

}  // namespace
}  // namespace tailor::tagging
