// The agent's smaller parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "agent/background.h"
#include "agent/components.h"
#include "agent/live_set.h"
#include "agent/plan_slots.h"
#include "agent/region_kinds.h"
#include "agent/thread_area.h"
#include "agent/utf8.h"

namespace tailor::agent::testing {
namespace {

std::string sanitized(std::string text) {
  sanitize_utf8(text);
  return text;
}

TEST(Utf8, KeepsWhatIsWellFormed) {
  EXPECT_EQ(sanitized(""), "");
  EXPECT_EQ(sanitized("plain \x01 \x7F"), "plain \x01 \x7F");
  EXPECT_EQ(sanitized("\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88"), "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x90\x88");
}

TEST(Utf8, ReplacesWhatIsNot) {
  EXPECT_EQ(sanitized("\xFF"), "?");
  EXPECT_EQ(sanitized("a\xC3"), "a?");
  EXPECT_EQ(sanitized("\xC0\xAF"), "??");            // overlong
  EXPECT_EQ(sanitized("\xE0\x80\xAF"), "???");       // overlong
  EXPECT_EQ(sanitized("\xED\xA0\x80"), "???");       // surrogate
  EXPECT_EQ(sanitized("\xF4\x90\x80\x80"), "????");  // beyond U+10FFFF
  EXPECT_EQ(sanitized("\xE2\x82z"), "??z");
  EXPECT_EQ(sanitized("\xA9\xC3\xA9"), "?\xC3\xA9");
}

TEST(PlanSlots, GenerationsTellReusedSlotsApart) {
  auto slots = std::make_unique<PlanSlots>();
  std::uint64_t first = slots->take();
  std::set<std::uint64_t> ids{first};
  EXPECT_TRUE(slots->free(first));
  EXPECT_FALSE(slots->free(first));
  EXPECT_FALSE(slots->free(12345));
  for (std::uint32_t i = 1; i < TAILOR_TAG_PLAN_SLOTS; ++i) EXPECT_TRUE(ids.insert(slots->take()).second);
  std::uint64_t again = slots->take();
  EXPECT_EQ(PlanSlots::slot(again), PlanSlots::slot(first));
  EXPECT_NE(PlanSlots::generation(again), PlanSlots::generation(first));
  EXPECT_TRUE(ids.insert(again).second);
  EXPECT_EQ(slots->take(), 0u);      // all taken
  EXPECT_FALSE(slots->free(first));  // an old id does not free the slot's new plan
  EXPECT_TRUE(slots->free(again));
}

TEST(PlanSlots, ThreadsNeverShareASlot) {
  auto slots = std::make_unique<PlanSlots>();
  std::vector<std::vector<std::uint64_t>> taken(4);
  std::vector<std::thread> threads;
  for (auto& mine : taken) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) mine.push_back(slots->take());
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::set<std::uint32_t> distinct;
  for (const auto& mine : taken) {
    for (std::uint64_t id : mine) EXPECT_TRUE(distinct.insert(PlanSlots::slot(id)).second);
  }
}

// Declares, and notes the numbers that were told.
struct Declarer {
  std::vector<std::uint32_t> told;
  bool has_room = true;
  auto tell() {
    return [this](std::uint32_t id) {
      told.push_back(id);
      return has_room;
    };
  }
};

TEST(Components, ANameKeepsItsNumber) {
  auto components = std::make_unique<Components>();
  Declarer each;
  EXPECT_EQ(components->declare("parse", each.tell()), 1u);
  EXPECT_EQ(components->declare("compile", each.tell()), 2u);
  EXPECT_EQ(components->declare("parse", each.tell()), 1u);
  EXPECT_THAT(each.told, ::testing::ElementsAre(1, 2));
  for (std::uint32_t i = 2; i < Components::kMax; ++i)
    components->declare("c" + std::to_string(i), each.tell());
  EXPECT_EQ(components->declare("one too many", each.tell()), 0u);
  EXPECT_EQ(components->declare("compile", each.tell()), 2u);
  EXPECT_EQ(each.told.size(), Components::kMax);
}

TEST(Components, AreAllToldAgain) {
  auto components = std::make_unique<Components>();
  Declarer each;
  components->declare("parse", each.tell());
  components->declare("compile", each.tell());
  std::vector<std::string> names;
  components->tell_all([&](std::uint32_t id, const char* name) {
    names.emplace_back(name);
    return id != 2;  // of the second there was no room for the message
  });
  EXPECT_THAT(names, ::testing::ElementsAre("parse", "compile"));
  components->declare("parse", each.tell());
  components->declare("compile", each.tell());
  EXPECT_THAT(each.told, ::testing::ElementsAre(1, 2, 2));
}

// declare(tell) of one thing by two threads, of which the first is held up while it tells. The second may
// neither have the number untold nor wait.
template <typename Declare>
void check_that_nobody_has_it_untold(Declare declare) {
  constexpr auto kPatience = std::chrono::minutes(2);
  std::promise<void> telling, done;
  std::uint32_t first = 0;
  std::thread slow([&] {
    first = declare([&](std::uint32_t) {
      telling.set_value();
      return done.get_future().wait_for(kPatience) == std::future_status::ready;
    });
  });
  ASSERT_EQ(telling.get_future().wait_for(kPatience), std::future_status::ready);
  Declarer other;
  const std::uint32_t second = declare(other.tell());
  EXPECT_THAT(other.told, ::testing::ElementsAre(second)) << "it has a number that nobody told";
  done.set_value();
  slow.join();
  EXPECT_EQ(first, second);
  declare(other.tell());
  EXPECT_EQ(other.told.size(), 1u) << "it was told";
}

// What found no room in the queue is told by the next who declares it.
template <typename Declare>
void check_that_it_is_told_until_it_is_queued(Declare declare) {
  Declarer full, next;
  full.has_room = false;
  const std::uint32_t id = declare(full.tell());
  declare(full.tell());
  EXPECT_THAT(full.told, ::testing::ElementsAre(id, id));
  declare(next.tell());
  declare(next.tell());
  EXPECT_THAT(next.told, ::testing::ElementsAre(id));
}

TEST(Components, NobodyHasANumberBeforeItIsTold) {
  auto components = std::make_unique<Components>();
  check_that_nobody_has_it_untold([&](auto tell) { return components->declare("parse", tell); });
  check_that_it_is_told_until_it_is_queued([&](auto tell) { return components->declare("plan", tell); });
}

tailor_region_kind column(const char* name, std::uint64_t plan = 0) {
  return {sizeof(tailor_region_kind), name, TAILOR_REGION_COLUMN, plan, 0, 0, 8};
}

TEST(RegionKinds, NobodyHasANumberBeforeItIsTold) {
  auto kinds = std::make_unique<RegionKinds>();
  check_that_nobody_has_it_untold([&](auto tell) { return kinds->declare(column("a"), tell); });
  check_that_it_is_told_until_it_is_queued([&](auto tell) { return kinds->declare(column("b"), tell); });
  Declarer each;
  EXPECT_NE(kinds->declare(column("a"), each.tell()), kinds->declare(column("b"), each.tell()));
  EXPECT_THAT(each.told, ::testing::IsEmpty());
}

TEST(RegionKinds, AreNewOfEachPlanAndAfterAStop) {
  auto kinds = std::make_unique<RegionKinds>();
  Declarer each;
  const std::uint32_t first = kinds->declare(column("a", 7), each.tell());
  const std::uint32_t second = kinds->declare(column("a", 7), each.tell());
  EXPECT_NE(first, second);
  const std::uint32_t kept = kinds->declare(column("a"), each.tell());
  EXPECT_THAT(each.told, ::testing::ElementsAre(first, second, kept));
  kinds->forget();
  EXPECT_EQ(kinds->declare(column("a"), each.tell()), kept);
  EXPECT_EQ(each.told.size(), 4u);
}

LiveSet::Outcome apply(LiveSet& live, MessageKind kind, std::uint64_t key, std::uint64_t owner = 0) {
  static const std::string bytes(100, 'b');
  return live.apply({{kind, 0, key, owner}, bytes});
}

std::vector<std::uint64_t> keys(const LiveSet& live) {
  std::vector<std::uint64_t> keys;
  live.for_each_from(0, [&](LiveSet::Order, const LiveSet::Entry& entry) {
    keys.push_back(entry.head.key);
    return true;
  });
  return keys;
}

TEST(Background, LooksSeldomForADaemonThatItTellsNothing) {
  EXPECT_EQ(listen_ms(0), 250);
  EXPECT_EQ(listen_ms(2999), 250);
  EXPECT_EQ(listen_ms(3000), 5000);
  EXPECT_EQ(listen_ms(1'000'000'000), 5000);
}

TEST(LiveSet, KeepsWhatIsLiveInOrder) {
  LiveSet live;
  using Outcome = LiveSet::Outcome;
  EXPECT_EQ(apply(live, MessageKind::kPlanLoad, 5), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kCodeLoad, 3), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kExecutionBegin, 9), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kRegionKind, 1, 5), Outcome::kKept);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 3), Outcome::kEnded);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 3), Outcome::kNothing);
  EXPECT_THAT(keys(live), ::testing::ElementsAre(5, 9, 1));
  EXPECT_EQ(apply(live, MessageKind::kPlanUnload, 5), Outcome::kEnded);  // and the region kind with it
  EXPECT_THAT(keys(live), ::testing::ElementsAre(9));
  EXPECT_EQ(live.bytes(), 100u);
}

TEST(LiveSet, SaidAgainCountsOnce) {
  LiveSet live;
  apply(live, MessageKind::kCodeLoad, 3);
  apply(live, MessageKind::kCodeLoad, 3);
  apply(live, MessageKind::kBarrier, 1);
  apply(live, MessageKind::kBarrier, 2);
  EXPECT_THAT(keys(live), ::testing::ElementsAre(3, 2));
  live.end_barrier(1);
  EXPECT_EQ(live.size(), 2u);
  live.end_barrier(2);
  EXPECT_EQ(live.size(), 1u);
}

// Threads that declare one thing at once say it once each, and speak of it in between.
TEST(LiveSet, WhatIsDeclaredAgainKeepsItsPlace) {
  for (MessageKind kind : {MessageKind::kComponentDeclare, MessageKind::kRegionKind}) {
    LiveSet live;
    using Outcome = LiveSet::Outcome;
    EXPECT_EQ(apply(live, kind, 1), Outcome::kKept);
    EXPECT_EQ(apply(live, MessageKind::kComponentCode, 9), Outcome::kKept);
    const std::string newer(40, 'n');
    EXPECT_EQ(live.apply({{kind, 0, 1, 0}, newer}), Outcome::kKept);
    EXPECT_THAT(keys(live), ::testing::ElementsAre(1, 9));
    EXPECT_EQ(live.bytes(), 140u);
    live.for_each_from(0, [&](LiveSet::Order, const LiveSet::Entry& first) {
      EXPECT_EQ(std::string(first.bytes.begin(), first.bytes.end()), newer);
      return false;
    });
  }
}

TEST(LiveSet, StaysSmallUnderChurn) {
  LiveSet live;
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    apply(live, MessageKind::kPlanLoad, i);
    apply(live, MessageKind::kRegionKind, i, i);
    apply(live, MessageKind::kExecutionBegin, i);
    apply(live, MessageKind::kExecutionEnd, i);
    apply(live, MessageKind::kPlanUnload, i);
  }
  EXPECT_EQ(live.size(), 0u);
  EXPECT_EQ(live.bytes(), 0u);
}

TEST(LiveSet, IsBounded) {
  LiveSet live(400);
  std::string big(100, 'x');
  auto load = [&](std::uint64_t key) { return live.apply({{MessageKind::kCodeLoad, 0, key, 0}, big}); };
  for (std::uint64_t i = 1; i <= 4; ++i) EXPECT_EQ(load(i), LiveSet::Outcome::kKept);
  EXPECT_EQ(load(5), LiveSet::Outcome::kTooLarge);
  EXPECT_EQ(apply(live, MessageKind::kCodeUnload, 5), LiveSet::Outcome::kNothing);
}

TEST(ArenaSet, ThreadsShareNothingAndAreasAreUsedAgain) {
  auto arenas = std::make_unique<ArenaSet>(64);
  ASSERT_TRUE(arenas->start());
  std::set<ThreadArea*> claimed;
  for (std::uint32_t i = 0; i < Arena::kAreas + 1; ++i)
    EXPECT_TRUE(claimed.insert(arenas->claim(i + 1)).second);
  ASSERT_NE(arenas->at(1), nullptr);
  EXPECT_EQ(arenas->at(2), nullptr);
  ThreadArea* area = *claimed.begin();
  std::uint64_t head = area->head;
  std::uint32_t use = area->use;
  Arena::give_back(*area);
  EXPECT_EQ(area->slot->state, static_cast<std::uint32_t>(TAILOR_AREA_CLOSED));
  std::set<ThreadArea*> seen;
  for (int i = 0; i < 200 && !seen.contains(area); ++i) {
    ThreadArea* next = arenas->claim(1000);
    seen.insert(next);
    Arena::give_back(*next);
  }
  ASSERT_TRUE(seen.contains(area));
  EXPECT_EQ(arenas->at(2), nullptr);
  EXPECT_EQ(area->use, use + 1);
  EXPECT_EQ(area->head, head + 1);  // the log goes on
  EXPECT_EQ(arenas->log_records(), Arena::kAreas + 1 + seen.size());
}

}  // namespace
}  // namespace tailor::agent::testing
