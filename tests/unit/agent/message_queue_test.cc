#include "agent/message_queue.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace tailor::agent::testing {
namespace {

using Urgency = MessageQueue::Urgency;

bool push(MessageQueue& queue, std::uint64_t key, const std::string& bytes,
          Urgency urgency = Urgency::kBegins) {
  auto reservation = queue.reserve(bytes.size() + 8, urgency);
  if (!reservation) return false;
  std::memcpy(reservation->space().data(), bytes.data(), bytes.size());
  queue.commit(*reservation, {MessageKind::kBarrier, 0, key, 0}, bytes.size());
  return true;
}

std::string text(const MessageView& view) {
  return {view.bytes.data(), view.bytes.size()};
}

TEST(MessageQueue, FirstInFirstOut) {
  MessageQueue queue(1 << 16);
  EXPECT_FALSE(queue.front());
  EXPECT_TRUE(push(queue, 1, "one"));
  EXPECT_TRUE(push(queue, 2, ""));
  ASSERT_TRUE(queue.front());
  EXPECT_EQ(text(*queue.front()), "one");
  EXPECT_EQ(queue.front()->head.key, 1u);
  queue.pop();
  EXPECT_EQ(queue.front()->head.key, 2u);
  EXPECT_EQ(queue.front()->bytes.size(), 0u);
  queue.pop();
  EXPECT_FALSE(queue.front());
}

TEST(MessageQueue, WaitsForTheOldestReservation) {
  MessageQueue queue(1 << 16);
  auto first = queue.reserve(10, Urgency::kBegins);
  auto second = queue.reserve(10, Urgency::kBegins);
  queue.commit(*second, {MessageKind::kBarrier, 0, 2, 0}, 0);
  EXPECT_FALSE(queue.front());
  queue.abandon(*first);
  ASSERT_TRUE(queue.front());
  EXPECT_EQ(queue.front()->head.key, 2u);
}

TEST(MessageQueue, KeepsRoomForEnds) {
  MessageQueue queue(1 << 16);
  std::string bytes(1000, 'x');
  while (push(queue, 1, bytes)) {
  }
  EXPECT_FALSE(push(queue, 1, bytes));
  EXPECT_TRUE(push(queue, 2, bytes, Urgency::kEnds));
  while (push(queue, 2, bytes, Urgency::kEnds)) {
  }
  // Full to the end: nothing is lost, nothing is overwritten, and there is room again afterwards.
  int begins = 0, ends = 0;
  for (; auto view = queue.front(); queue.pop()) {
    EXPECT_EQ(text(*view), bytes);
    (view->head.key == 1 ? begins : ends) += 1;
  }
  EXPECT_GT(begins, 50);
  EXPECT_GT(ends, 5);
  EXPECT_TRUE(push(queue, 3, bytes));
}

TEST(MessageQueue, TakesTheLargestMessageWhereverItsEndIs) {
  MessageQueue queue(1 << 16);
  EXPECT_FALSE(queue.reserve(queue.max_message_bytes() + 1, Urgency::kEnds));
  EXPECT_FALSE(queue.reserve(~std::size_t{0} - 5, Urgency::kEnds));
  for (int i = 0; i < 50; ++i) {
    ASSERT_TRUE(push(queue, 1, std::string(997u * static_cast<unsigned>(i) % 9000, 'y')));
    ASSERT_TRUE(queue.front());
    queue.pop();
    ASSERT_TRUE(push(queue, 2, std::string(queue.max_message_bytes() - 8, 'z'))) << i;
    while (queue.front()) queue.pop();
  }
}

// Bytes that look like commit words must not be taken for records later.
TEST(MessageQueue, OldBytesAreNotRecords) {
  MessageQueue queue(1 << 16);
  std::string poison(3000, '\x20');
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(push(queue, 1, poison));
    ASSERT_TRUE(queue.front());
    queue.pop();
    EXPECT_FALSE(queue.front());
  }
}

TEST(MessageQueue, LargeRecordsAreGivenBackClean) {
  MessageQueue queue(8 << 20);
  std::string big(2 << 20, '\x7F');
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(push(queue, 1, big));
    ASSERT_TRUE(push(queue, 2, "small"));
    EXPECT_EQ(queue.front()->bytes.size(), big.size());
    queue.pop();
    EXPECT_EQ(text(*queue.front()), "small");
    queue.pop();
    EXPECT_FALSE(queue.front());
  }
}

// Several producers against a slow consumer in a small ring: each producer's messages come whole and in
// order, and what was not taken was refused.
TEST(MessageQueue, ProducersDoNotDisturbEachOther) {
  constexpr std::uint64_t kProducers = 4, kEach = 20'000;
  MessageQueue queue(1 << 16);
  std::vector<std::uint64_t> accepted(kProducers);
  std::vector<std::thread> producers;
  std::atomic<int> running{kProducers};
  for (std::uint64_t p = 0; p < kProducers; ++p) {
    producers.emplace_back([&, p] {
      for (std::uint64_t i = 1; i <= kEach; ++i) {
        std::string bytes((i * 31 + p * 7) % 600, static_cast<char>('a' + p));
        accepted[p] += push(queue, p << 32 | i, bytes, i % 3 ? Urgency::kBegins : Urgency::kEnds);
      }
      --running;
    });
  }
  std::vector<std::uint64_t> seen(kProducers), last(kProducers);
  int wrong = 0;
  auto drain = [&] {
    for (; auto view = queue.front(); queue.pop()) {
      std::uint64_t p = view->head.key >> 32, i = view->head.key & 0xFFFFFFFF;
      if (p >= kProducers) {
        ++wrong;
        continue;
      }
      wrong += i <= last[p] || text(*view) != std::string((i * 31 + p * 7) % 600, static_cast<char>('a' + p));
      last[p] = i;
      ++seen[p];
    }
  };
  while (running > 0) drain();
  for (std::thread& producer : producers) producer.join();
  drain();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(seen, accepted);
}

}  // namespace
}  // namespace tailor::agent::testing
