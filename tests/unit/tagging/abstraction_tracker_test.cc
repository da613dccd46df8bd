#include "compiler/tagging/abstraction_tracker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/tagging/lowering_step.h"

namespace tailor::tagging {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(AbstractionTracker, InnermostScopeIsActive) {
  AbstractionTracker tracker;
  EXPECT_THAT(tracker.active(), IsEmpty());
  {
    auto join = tracker.Enter(1);
    EXPECT_THAT(tracker.active(), ElementsAre(1));
    {
      const ComponentId both[] = {2, 3};
      auto fused = tracker.Enter(both);
      EXPECT_THAT(tracker.active(), ElementsAre(2, 3));
    }
    EXPECT_THAT(tracker.active(), ElementsAre(1));
  }
  EXPECT_THAT(tracker.active(), IsEmpty());
}

TEST(AbstractionTracker, MovedScopeLeavesOnce) {
  AbstractionTracker tracker;
  auto outer = tracker.Enter(1);
  {
    auto a = tracker.Enter(2);
    auto b = std::move(a);
    EXPECT_EQ(tracker.depth(), 2u);
  }
  EXPECT_EQ(tracker.depth(), 1u);
}

// Produce and consume of three fused operators: a scan, a filter and a join that consume in turn.
TEST(LoweringStep, FusedOperatorsKeepTheirTasks) {
  DictionaryBuilder plan("q", {"operator", "task", "ir"});
  ComponentId scan = plan.Add(0, {.name = "Scan"});
  ComponentId join = plan.Add(0, {.name = "Join", .inputs = {scan}});
  LoweringStep step(plan, 0, 1);
  auto in_join = step.tracker().Enter(join);
  ComponentId build = step.Emit({.name = "Build"});
  ComponentId read;
  {
    auto in_scan = step.tracker().Enter(scan);
    read = step.Emit({.name = "Read"});
  }
  ComponentId probe = step.Emit({.name = "Probe"});
  EXPECT_THAT(plan.Owners(1, build), ElementsAre(join));
  EXPECT_THAT(plan.Owners(1, read), ElementsAre(scan));
  EXPECT_THAT(plan.Owners(1, probe), ElementsAre(join));
}

}  // namespace
}  // namespace tailor::tagging
