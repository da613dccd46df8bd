#include "daemon/registration/log_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "agent/thread_area.h"
#include "tests/unit/registration/fake_arena.h"

namespace tailor::registration::testing {
namespace {

constexpr std::uint32_t kCapacity = 16;

class LogReaderTest : public ::testing::Test {
 protected:
  std::vector<LogRun> drain() { return reader_.drain(*view_, 0); }
  void write(int count) {
    for (int i = 0; i < count; ++i) arena_.append(TAILOR_LOG_ITERATION, ++written_);
  }

  FakeArena arena_{1, kCapacity};
  std::shared_ptr<const ArenaView> view_ = arena_.view();
  LogReader reader_;
  std::uint32_t written_ = 0;
};

TEST_F(LogReaderTest, NothingIsNothing) {
  EXPECT_TRUE(drain().empty());
}

TEST_F(LogReaderTest, ReadsWhatIsNewOnce) {
  arena_.begin_thread(7);
  write(3);
  auto runs = drain();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].tid, 7u);
  EXPECT_EQ(runs[0].lost, 0u);
  ASSERT_EQ(runs[0].records.size(), 3u);
  EXPECT_EQ(runs[0].records[0].id, 1u);
  EXPECT_TRUE(drain().empty());
  write(1);
  runs = drain();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].records[0].id, 4u);
}

TEST_F(LogReaderTest, OverrunIsCountedToTheRecord) {
  arena_.begin_thread(7);
  write(2);
  drain();
  write(100);
  auto runs = drain();
  ASSERT_EQ(runs.size(), 1u);
  // The slot of the oldest record may be written at this moment: one less than the capacity is safe.
  EXPECT_EQ(runs[0].records.size(), kCapacity - 1);
  EXPECT_EQ(runs[0].lost, 100 - (kCapacity - 1));
  EXPECT_EQ(runs[0].records.back().id, 102u);
  EXPECT_EQ(runs[0].tid, 7u);
}

TEST_F(LogReaderTest, RecordsGoToTheThreadThatWroteThem) {
  arena_.begin_thread(7);
  write(2);
  arena_.begin_thread(8);
  write(1);
  arena_.begin_thread(9);
  auto runs = drain();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].tid, 7u);
  EXPECT_EQ(runs[0].records.size(), 2u);
  EXPECT_EQ(runs[1].tid, 8u);
  EXPECT_EQ(runs[1].records.size(), 1u);
}

TEST_F(LogReaderTest, OwnerIsFoundAfterItsFirstRecordWasLost) {
  arena_.begin_thread(7);
  write(2);
  drain();
  arena_.begin_thread(8);
  write(50);
  auto runs = drain();
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].tid, 8u);  // from the slot
}

TEST_F(LogReaderTest, AnUnknownOwnerIsNotGuessed) {
  arena_.begin_thread(7);
  drain();
  arena_.begin_thread(8);
  write(50);
  arena_.begin_thread(9);
  write(2);
  auto runs = drain();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].tid, 0u);  // thread 8: its record is lost, and the slot names thread 9
  EXPECT_GT(runs[0].lost, 0u);
  EXPECT_EQ(runs[1].tid, 9u);
  EXPECT_EQ(runs[1].records.size(), 2u);
}

TEST_F(LogReaderTest, HostileHeadsAndKindsAreCounted) {
  arena_.begin_thread(7);
  write(3);
  drain();
  arena_.head() = 1;
  EXPECT_TRUE(drain().empty());
  EXPECT_EQ(reader_.malformed(), 1u);
  arena_.head() = ~std::uint64_t{0};
  for (const LogRun& run : drain()) EXPECT_LE(run.records.size(), kCapacity);
  arena_.head() = 0;
  drain();
  arena_.append(9999, 1);
  arena_.append(TAILOR_LOG_NONE, 1);
  std::uint64_t before = reader_.malformed();
  drain();
  EXPECT_EQ(reader_.malformed(), before + 2);
}

TEST_F(LogReaderTest, AHeadThatNobodyCanHaveReachedIsNotBelieved) {
  std::uint64_t now = 1'000'000'000;
  arena_.begin_thread(7);
  (void)reader_.drain(*view_, 0, now);
  now += 1'000'000;
  arena_.head() = std::uint64_t{1} << 63;
  std::uint64_t lost = 0;
  for (const LogRun& run : reader_.drain(*view_, 0, now)) lost += run.lost;
  EXPECT_LE(lost, kCapacity);
  EXPECT_EQ(reader_.malformed() > 0, true);
  // A fast writer is.
  LogReader other;
  other.written_since(now);
  arena_.head() = 100'000;
  lost = 0;
  for (const LogRun& run : other.drain(*view_, 0, now + 1'000'000)) lost += run.lost;
  EXPECT_GT(lost, 90'000u);
}

// A thread writes as fast as it can into a small log while it is read: every record that comes out is whole,
// they come in order, and nothing is missing without being counted. (The writer is the agent's own.)
TEST(LogReaderRace, WholeInOrderAndCounted) {
  FakeArena arena(1, 64);
  auto view = arena.view();
  agent::ThreadArea area;
  area.log = reinterpret_cast<tailor_log_header*>(&arena.head());
  area.records =
      reinterpret_cast<tailor_log_record*>(reinterpret_cast<char*>(&arena.slot()) + TAILOR_AREA_LOG_OFFSET);
  area.mask = 63;
  constexpr std::uint64_t kRecords = 2'000'000;
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kRecords; ++i) {
      agent::append_record(area, TAILOR_LOG_ITERATION, static_cast<std::uint32_t>(i), i, ~i);
    }
    done = true;
  });
  LogReader reader;
  std::uint64_t seen = 0, lost = 0, last = 0;
  int torn = 0, disordered = 0;
  auto drain = [&] {
    for (const LogRun& run : reader.drain(*view, 0)) {
      lost += run.lost;
      for (const tailor_log_record& record : run.records) {
        torn += record.b != ~record.a || record.id != static_cast<std::uint32_t>(record.a);
        disordered += record.a <= last;
        last = record.a;
        ++seen;
      }
    }
  };
  while (!done) drain();
  writer.join();
  drain();
  EXPECT_EQ(torn, 0);
  EXPECT_EQ(disordered, 0);
  EXPECT_EQ(seen + lost, kRecords);
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace tailor::registration::testing
