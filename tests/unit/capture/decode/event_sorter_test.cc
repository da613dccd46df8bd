#include "daemon/capture/decode/event_sorter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

namespace tailor::capture {
namespace {

Batch batch_of(const std::vector<TimeNs>& times, const std::string& text = "") {
  Batch batch;
  for (TimeNs time : times) {
    Event& event = batch.events.emplace_back();
    event.time = time;
    event.text_offset = static_cast<std::uint32_t>(batch.text.size());
    event.text_size = static_cast<std::uint32_t>(text.size());
    batch.text += text;
  }
  return batch;
}

std::vector<TimeNs> times_of(const Batch& batch) {
  std::vector<TimeNs> times;
  for (const Event& event : batch.events) times.push_back(event.time);
  return times;
}

TEST(EventSorter, MergesRingsBehindTheHorizon) {
  EventSorter sorter;
  Batch out, late;
  sorter.add(batch_of({10, 30, 50}, "a"), late);
  sorter.add(batch_of({20, 40, 60}, "bc"), late);
  sorter.advance(45, out);
  EXPECT_EQ(times_of(out), (std::vector<TimeNs>{10, 20, 30, 40}));
  EXPECT_EQ(out.text_of(out.events[1]), "bc");
  EXPECT_EQ(sorter.pending(), 2u);
  sorter.advance(100, out);
  EXPECT_EQ(times_of(out), (std::vector<TimeNs>{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(out.text_of(out.events[5]), "bc");
  EXPECT_TRUE(late.empty());
}

TEST(EventSorter, BackwardTimesInOneRingAreSorted) {
  EventSorter sorter;
  Batch out, late;
  sorter.add(batch_of({50, 20, 90, 10, 10}), late);
  sorter.advance(91, out);
  EXPECT_EQ(times_of(out), (std::vector<TimeNs>{10, 10, 20, 50, 90}));
}

TEST(EventSorter, LateEventsAreCountedAndHandedBack) {
  EventSorter sorter;
  Batch out, late;
  sorter.advance(100, out);
  sorter.add(batch_of({99, 100, 5}, "x"), late);
  sorter.advance(101, out);
  EXPECT_EQ(times_of(out), (std::vector<TimeNs>{100}));
  EXPECT_EQ(times_of(late), (std::vector<TimeNs>{99, 5}));
  EXPECT_EQ(late.text_of(late.events[1]), "x");
  EXPECT_EQ(sorter.counts().late, 2u);
}

TEST(EventSorter, EqualTimesKeepTheirOrderOfArrival) {
  EventSorter sorter;
  Batch out, late;
  Batch first = batch_of({7, 7, 5});
  first.events[0].tid = 1;
  first.events[1].tid = 2;
  Batch second = batch_of({7});
  second.events[0].tid = 3;
  sorter.add(std::move(first), late);
  sorter.add(std::move(second), late);
  sorter.advance(8, out);
  ASSERT_EQ(out.events.size(), 4u);
  EXPECT_EQ(out.events[1].tid, 1);
  EXPECT_EQ(out.events[2].tid, 2);
  EXPECT_EQ(out.events[3].tid, 3);
}

TEST(EventSorter, MemoryIsBoundedAndTheForcedAreCounted) {
  EventSorter sorter(100);
  Batch out, late;
  for (TimeNs t = 0; t < 1000; ++t) {
    sorter.add(batch_of({t}), late);
    sorter.advance(0, out);
    EXPECT_LE(sorter.pending(), 100u);
  }
  EXPECT_TRUE(std::ranges::is_sorted(times_of(out)));
  EXPECT_EQ(sorter.counts().forced, out.events.size());
  EXPECT_TRUE(late.empty());
  sorter.add(batch_of({1}), late);
  EXPECT_EQ(late.events.size(), 1u);
}

TEST(EventSorter, NothingIsLostWhateverTheOrder) {
  std::mt19937 random(11);
  EventSorter sorter(500);
  Batch out, late;
  std::uint64_t given = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<TimeNs> times;
    for (unsigned i = random() % 60; i > 0; --i)
      times.push_back(round * 10 + static_cast<int>(random() % 200) - 100);
    given += times.size();
    sorter.add(batch_of(times), late);
    sorter.advance(round * 10 - 50, out);
  }
  sorter.advance(kTimeMax, out);
  EXPECT_TRUE(std::ranges::is_sorted(times_of(out)));
  EXPECT_EQ(out.events.size() + late.events.size(), given);
  EXPECT_EQ(sorter.counts().emitted + sorter.counts().late, sorter.counts().received);
  EXPECT_GT(late.events.size(), 0u);
}

// A stable sort of everything is what must come out, with every text, however batches stay behind.
TEST(EventSorter, IsAStableSortWhateverStaysBehind) {
  std::mt19937 random(12);
  EventSorter sorter;
  Batch out, late;
  std::vector<std::pair<TimeNs, std::string>> expected, got;
  std::size_t number = 0;
  for (int round = 0; round < 400; ++round) {
    Batch batch;
    for (int i = 0; i < 500; ++i) {
      // One in a hundred is far ahead and keeps its batch's memory.
      const TimeNs ahead = random() % 100 == 0 ? 100'000 : static_cast<TimeNs>(random() % 50);
      const std::string text = std::to_string(number++);
      Batch one = batch_of({round * 10 + ahead}, text);
      expected.emplace_back(one.events[0].time, text);
      batch.append(one, one.events[0]);
    }
    sorter.add(std::move(batch), late);
    EXPECT_TRUE(batch.empty());  // NOLINT(bugprone-use-after-move): the sorter says how it leaves it
    sorter.advance(round * 10, [&](const Batch& from, const Event& event) {
      got.emplace_back(event.time, from.text_of(event));
    });
  }
  sorter.advance(kTimeMax, [&](const Batch& from, const Event& event) {
    got.emplace_back(event.time, from.text_of(event));
  });
  std::ranges::stable_sort(expected, {}, &std::pair<TimeNs, std::string>::first);
  EXPECT_EQ(got, expected);
  EXPECT_TRUE(late.empty());
  EXPECT_EQ(sorter.pending(), 0u);
}

TEST(Batch, AnEventWithoutTextOrChainIsTakenAlongFromAnyPlace) {
  Batch from, to;
  from.text = "a long text of others";
  from.words = {1, 2, 3};
  Event& event = from.events.emplace_back();
  event.kind = Kind::kComm;  // of a thread that has emptied its name
  event.text_offset = static_cast<std::uint32_t>(from.text.size());
  event.chain_offset = static_cast<std::uint32_t>(from.words.size());
  to.append(from, event);
  EXPECT_EQ(to.text_of(to.events[0]), "");
  EXPECT_TRUE(to.chain(to.events[0]).empty());
}

}  // namespace
}  // namespace tailor::capture
