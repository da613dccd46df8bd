#include "daemon/registration/arena_view.h"

#include <gtest/gtest.h>

#include "daemon/registration/limits.h"
#include "tests/unit/registration/fake_arena.h"

namespace tailor::registration::testing {
namespace {

bool opens(const FakeArena& arena) {
  return ArenaView::open(arena.memory(), arena.bytes()).ok();
}

TEST(ArenaView, ReadsSlotsAndRecords) {
  FakeArena arena(3, 16);
  arena.begin_thread(77, 2);
  arena.slot(2).tag = 0xABCD;
  arena.append(TAILOR_LOG_PIPELINE_BEGIN, 5, 6, 2);
  auto view = arena.view();
  EXPECT_EQ(view->area_count(), 3u);
  SlotState slot = view->read_slot(2);
  EXPECT_EQ(slot.tag, 0xABCDu);
  EXPECT_EQ(slot.tid, 77u);
  EXPECT_EQ(slot.use, 1u);
  EXPECT_EQ(slot.state, static_cast<std::uint32_t>(TAILOR_AREA_LIVE));
  EXPECT_EQ(*view->tag_address(2), 0xABCDu);
  EXPECT_EQ(view->log_head(2), 2u);
  EXPECT_EQ(view->read_record(2, 1).id, 5u);
  EXPECT_EQ(view->read_record(2, 1).a, 6u);
  EXPECT_EQ(view->log_head(0), 0u);
}

TEST(ArenaView, RefusesHeadersThatDoNotFit) {
  EXPECT_TRUE(opens(FakeArena(1, 16)));
  FakeArena arena(2, 16);
  EXPECT_FALSE(ArenaView::open(arena.memory(), 100).ok());
  EXPECT_FALSE(ArenaView::open(arena.memory(), arena.bytes() - 1).ok());

  auto broken = [](auto change) {
    FakeArena changed(2, 16);
    change(changed.header());
    return !opens(changed);
  };
  EXPECT_TRUE(broken([](auto& h) { h.magic = 1; }));
  EXPECT_TRUE(broken([](auto& h) { h.version = 2; }));
  EXPECT_TRUE(broken([](auto& h) { h.area_count = 0; }));
  EXPECT_TRUE(broken([](auto& h) { h.area_count = 3; }));
  EXPECT_TRUE(broken([](auto& h) { h.area_count = kMaxAreas + 1; }));
  EXPECT_TRUE(broken([](auto& h) { h.area_size += 32; }));
  EXPECT_TRUE(broken([](auto& h) { h.log_capacity = 17; }));
  EXPECT_TRUE(broken([](auto& h) { h.log_capacity = 0; }));
  EXPECT_TRUE(broken([](auto& h) { h.log_capacity = 1u << 31; }));
}

TEST(ArenaView, LaterChangesOfTheHeaderChangeNothing) {
  FakeArena arena(2, 16);
  auto view = arena.view();
  arena.header().area_count = 4000;
  arena.header().log_capacity = 1u << 20;
  arena.header().area_size = 0;
  EXPECT_EQ(view->area_count(), 2u);
  EXPECT_EQ(view->log_capacity(), 16u);
  view->read_record(1, ~std::uint64_t{0});
}

}  // namespace
}  // namespace tailor::registration::testing
