// The agent's smaller parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "agent/components.h"
#include "agent/live_set.h"
#include "agent/plan_slots.h"
#include "agent/thread_area.h"
#include "agent/utf8.h"

namespace tailor::agent::testing {
namespace {

std::string Sanitized(std::string text) {
  SanitizeUtf8(text);
  return text;
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  EXPECT_EQ(Sanitized(""), "");
  EXPECT_EQ(Sanitized("plain \x01 \x7F"), "plain \x01 \x7F");
  EXPECT_EQ(Sanitized("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88"), "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88");
}

TEST(Utf8, ReplacesWhatIsNot) {
  EXPECT_EQ(Sanitized("\xFF"), "?");
  EXPECT_EQ(Sanitized("a\xC3"), "a?");
  EXPECT_EQ(Sanitized("\xC0\xAF"), "??");            // overlong
  EXPECT_EQ(Sanitized("\xE0\x80\xAF"), "???");       // overlong
  EXPECT_EQ(Sanitized("\xED\xA0\x80"), "???");       // surrogate
  EXPECT_EQ(Sanitized("\xF4\x90\x80\x80"), "????");  // beyond U+10FFFF
  EXPECT_EQ(Sanitized("\xE2\x82z"), "??z");
  EXPECT_EQ(Sanitized("\xA9\xC3\xA9"), "?\xC3\xA9");
}

TEST(PlanSlots, GenerationsTellReusedSlotsApart) {
  auto slots = std::make_unique<PlanSlots>();
  std::uint64_t first = slots->Take();
  std::set<std::uint64_t> ids{first};
  EXPECT_TRUE(slots->Free(first));
  EXPECT_FALSE(slots->Free(first));
  EXPECT_FALSE(slots->Free(12345));
  for (std::uint32_t i = 1; i < TAILOR_TAG_PLAN_SLOTS; ++i) EXPECT_TRUE(ids.insert(slots->Take()).second);
  std::uint64_t again = slots->Take();
  EXPECT_EQ(PlanSlots::Slot(again), PlanSlots::Slot(first));
  EXPECT_NE(PlanSlots::Generation(again), PlanSlots::Generation(first));
  EXPECT_TRUE(ids.insert(again).second);
  EXPECT_EQ(slots->Take(), 0u);      // all taken
  EXPECT_FALSE(slots->Free(first));  // an old id does not free the slot's new plan
  EXPECT_TRUE(slots->Free(again));
}

TEST(PlanSlots, ThreadsNeverShareASlot) {
  auto slots = std::make_unique<PlanSlots>();
  std::vector<std::vector<std::uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(slots->Take());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint32_t> distinct;
  for (const auto& mine : taken) {
    for (std::uint64_t id : mine) EXPECT_TRUE(distinct.insert(PlanSlots::Slot(id)).second);
  }
}

TEST(Components, ANameKeepsItsNumber) {
  auto components = std::make_unique<Components>();
  EXPECT_EQ(components->FindOrAdd("parse").id, 1u);
  EXPECT_EQ(components->FindOrAdd("compile").id, 2u);
  auto again = components->FindOrAdd("parse");
  EXPECT_EQ(again.id, 1u);
  EXPECT_FALSE(again.is_new);
  for (std::uint32_t i = 2; i < Components::kMax; ++i) components->FindOrAdd("c" + std::to_string(i));
  EXPECT_EQ(components->FindOrAdd("one too many").id, 0u);
  EXPECT_EQ(components->FindOrAdd("compile").id, 2u);
}

LiveSet::Outcome Apply(LiveSet& live, MessageKind kind, std::uint64_t key, std::uint64_t owner = 0) {
  static const std::string bytes(100, 'b');
  return live.Apply({{kind, 0, key, owner}, bytes});
}

std::vector<std::uint64_t> Keys(const LiveSet& live) {
  std::vector<std::uint64_t> keys;
  live.ForEachFrom(0, [&](LiveSet::Order, const LiveSet::Entry& entry) {
    keys.push_back(entry.head.key);
    return true;
  });
  return keys;
}

TEST(LiveSet, KeepsWhatIsLiveInOrder) {
  LiveSet live;
  using Outcome = LiveSet::Outcome;
  EXPECT_EQ(Apply(live, MessageKind::kPlanLoad, 5), Outcome::kKept);
  EXPECT_EQ(Apply(live, MessageKind::kCodeLoad, 3), Outcome::kKept);
  EXPECT_EQ(Apply(live, MessageKind::kExecutionBegin, 9), Outcome::kKept);
  EXPECT_EQ(Apply(live, MessageKind::kRegionKind, 1, 5), Outcome::kKept);
  EXPECT_EQ(Apply(live, MessageKind::kCodeUnload, 3), Outcome::kEnded);
  EXPECT_EQ(Apply(live, MessageKind::kCodeUnload, 3), Outcome::kNothing);
  EXPECT_THAT(Keys(live), ::testing::ElementsAre(5, 9, 1));
  EXPECT_EQ(Apply(live, MessageKind::kPlanUnload, 5), Outcome::kEnded);  // and the region kind with it
  EXPECT_THAT(Keys(live), ::testing::ElementsAre(9));
  EXPECT_EQ(live.bytes(), 100u);
}

TEST(LiveSet, SaidAgainCountsOnce) {
  LiveSet live;
  Apply(live, MessageKind::kCodeLoad, 3);
  Apply(live, MessageKind::kCodeLoad, 3);
  Apply(live, MessageKind::kBarrier, 1);
  Apply(live, MessageKind::kBarrier, 2);
  EXPECT_THAT(Keys(live), ::testing::ElementsAre(3, 2));
  live.EndBarrier(1);
  EXPECT_EQ(live.size(), 2u);
  live.EndBarrier(2);
  EXPECT_EQ(live.size(), 1u);
}

TEST(LiveSet, StaysSmallUnderChurn) {
  LiveSet live;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    Apply(live, MessageKind::kPlanLoad, i);
    Apply(live, MessageKind::kRegionKind, i, i);
    Apply(live, MessageKind::kExecutionBegin, i);
    Apply(live, MessageKind::kExecutionEnd, i);
    Apply(live, MessageKind::kPlanUnload, i);
  }
  EXPECT_EQ(live.size(), 0u);
  EXPECT_EQ(live.bytes(), 0u);
}

TEST(LiveSet, IsBounded) {
  LiveSet live(400);
  std::string big(100, 'x');
  auto load = [&](std::uint64_t key) { return live.Apply({{MessageKind::kCodeLoad, 0, key, 0}, big}); };
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(load(i), LiveSet::Outcome::kKept);
  EXPECT_EQ(load(5), LiveSet::Outcome::kTooLarge);
  EXPECT_EQ(Apply(live, MessageKind::kCodeUnload, 5), LiveSet::Outcome::kNothing);
}

TEST(ArenaSet, ThreadsShareNothingAndAreasAreUsedAgain) {
  auto arenas = std::make_unique<ArenaSet>(64);
  ASSERT_TRUE(arenas->Start());
  std::set<ThreadArea*> claimed;
  for (std::uint32_t i = 0; i < Arena::kAreas + 1; ++i)
    EXPECT_TRUE(claimed.insert(arenas->Claim(i + 1)).second);
  ASSERT_NE(arenas->at(1), nullptr);
  EXPECT_EQ(arenas->at(2), nullptr);
  ThreadArea* area = *claimed.begin();
  std::uint64_t head = area->head;
  std::uint32_t use = area->use;
  Arena::GiveBack(*area);
  EXPECT_EQ(area->slot->state, static_cast<std::uint32_t>(TAILOR_AREA_CLOSED));
  std::set<ThreadArea*> seen;
  for (int i = 0; i < 200 && !seen.contains(area); ++i) {
    ThreadArea* next = arenas->Claim(1000);
    seen.insert(next);
    Arena::GiveBack(*next);
  }
  ASSERT_TRUE(seen.contains(area));
  EXPECT_EQ(arenas->at(2), nullptr);
  EXPECT_EQ(area->use, use + 1);
  EXPECT_EQ(area->head, head + 1);  // the log goes on
  EXPECT_EQ(arenas->LogRecords(), Arena::kAreas + 1 + seen.size());
}

}  // namespace
}  // namespace tailor::agent::testing
