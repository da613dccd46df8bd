#include "daemon/process/plan_index.h"

#include <gtest/gtest.h>

namespace tailor::process {
namespace {

PlanState plan(PlanId id, std::uint32_t slot, TimeNs loaded) {
  PlanState state;
  state.id = id;
  state.slot = slot;
  state.component_counts = {1};
  state.loaded = loaded;
  return state;
}

PlanId found(const PlanIndex& index, std::uint32_t slot, TimeNs time) {
  const PlanState* state = index.find(slot, 0, time);
  return state == nullptr ? 0 : state->id;
}

TEST(PlanIndex, ASlotThatIsUsedAgainIsToldApartByTime) {
  PlanIndex index({});
  for (PlanId id = 1; id <= 4; ++id) {
    ASSERT_TRUE(index.add(plan(id, 7, static_cast<TimeNs>(id) * 100)).ok());
    ASSERT_TRUE(index.remove(id, static_cast<TimeNs>(id) * 100 + 50));
  }
  for (PlanId id = 1; id <= 4; ++id) EXPECT_EQ(found(index, 7, static_cast<TimeNs>(id) * 100 + 20), id);
  index.trim(250);
  EXPECT_EQ(found(index, 7, 120), 0u);
  EXPECT_EQ(found(index, 7, 320), 3u);
  index.trim(349);
  EXPECT_EQ(index.size(), 2u);
  index.trim(450);
  EXPECT_EQ(index.size(), 0u);
}

// A goodbye ends all of them.
TEST(PlanIndex, ManyThatEndAtOnceGoAtOnce) {
  PlanIndex index({});
  constexpr PlanId kMany = 20'000;
  for (PlanId id = 1; id <= kMany; ++id) {
    ASSERT_TRUE(index.add(plan(id, static_cast<std::uint32_t>(kMany - id), 10)).ok());
  }
  index.remove_unseen(1, 50);
  EXPECT_EQ(index.live_count(), 0u);
  EXPECT_EQ(found(index, 5, 40), kMany - 5);
  ASSERT_TRUE(index.add(plan(kMany + 1, 5, 60)).ok());
  index.trim(50);
  EXPECT_EQ(index.size(), 1u);
  EXPECT_EQ(found(index, 5, 60), kMany + 1);
  EXPECT_EQ(found(index, 6, 60), 0u);
}

}  // namespace
}  // namespace tailor::process
