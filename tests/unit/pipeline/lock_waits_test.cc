// The holder of a lock is noted in the execution that waits for it where that is sure, and nowhere else.
#include "daemon/pipeline/lock_waits.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace tailor::pipeline {
namespace {

constexpr std::uint32_t kUid = 7;
constexpr TimeNs kBegan = 100, kSeen = 200, kLook = 500;

// Three processes of a server: one waits, one holds, one watches. Each has an execution, but the watcher.
class LockWaitsTest : public testing::Test {
 protected:
  LockWaitsTest() {
    meet(waits_, 11);
    meet(holder_, 12);
    meet(watcher_, 13);
    work(waits_, 1);
    work(holder_, 2);
  }

  ProcessEntry& of_pid(std::int32_t pid) { return table_.get({pid, 1}, 0); }
  // Its agent has another number for it, as in a container.
  void meet(ProcessEntry& entry, std::uint32_t engine_pid) {
    entry.uid = kUid;
    entry.connection = 1;
    entry.record.cgroup = "/server";
    entry.record.engine_name = "engine";
    entry.settled = 1000;
    entry.state.start_agent(1, 0, 10);
    lock_waits_.met(entry, engine_pid);
  }
  void work(ProcessEntry& entry, ExecutionHandle handle) {
    profile::ExecutionRecord record;
    record.process = entry.id();
    record.handle = handle;
    record.id.bytes.fill(static_cast<std::uint8_t>(handle));
    record.begin = kBegan;
    entry.running.emplace(handle, RunningExecution{record});
    tailor_log_record mark{};
    mark.kind = TAILOR_LOG_EXECUTION_BEGIN;
    mark.a = handle;
    ASSERT_TRUE(entry.state.add_activity(entry.id().pid, mark, kBegan).ok());
  }
  // Whether the execution is to be told again.
  bool look(TimeNs time = kLook, std::uint64_t since_tsc = 4711, TimeNs since = kSeen,
            std::initializer_list<std::uint32_t> holders = {12}) {
    v1::Blocked said;
    said.set_pid(11);
    said.set_since_tsc(since_tsc);
    for (const std::uint32_t pid : holders) said.add_holders(pid);
    return lock_waits_.take(watcher_, time, since, said) != nullptr;
  }
  const profile::Blockers& seen() { return waits_.running.at(1).blockers; }

  ProcessTable table_{process::Limits{}};
  LockWaits lock_waits_{table_};
  ProcessEntry& waits_ = of_pid(5011);
  ProcessEntry& holder_ = of_pid(5012);
  ProcessEntry& watcher_ = of_pid(5013);
};

TEST_F(LockWaitsTest, TheHolderIsNotedFromTheFirstToTheLastLook) {
  look(300);
  look(kLook);
  ASSERT_EQ(seen().seen.size(), 1u);
  EXPECT_EQ(seen().seen[0], (profile::Blocker{holder_.id(), holder_.running.at(2).record.id, kSeen, kLook}));
  RunningExecution& ended = waits_.running.at(1);
  ended.record.end = 450;
  end_blockers(ended);
  ASSERT_NE(ended.record.blockers, nullptr);
  EXPECT_EQ(ended.record.blockers->seen.at(0).to, 450) << "no longer than the execution";
  EXPECT_EQ(holder_.running.at(2).blockers.seen.size(), 0u) << "nobody held up the holder";
}

TEST_F(LockWaitsTest, WhoRunsIsToldOfNowAndThen) {
  constexpr TimeNs kSecond = 1'000'000'000;
  EXPECT_TRUE(look(300));
  EXPECT_FALSE(look(400)) << "nothing is new";
  EXPECT_TRUE(look(500, 4712)) << "another wait";
  EXPECT_FALSE(look(kSecond));
  EXPECT_TRUE(look(kSecond + 600)) << "it goes on";
  const auto& told = waits_.running.at(1).record.blockers;
  ASSERT_NE(told, nullptr);
  ASSERT_EQ(told->seen.size(), 2u);
  EXPECT_EQ(told->seen[0].to, kSecond + 600);
  holder_.uid = kUid + 1;
  EXPECT_FALSE(look(3 * kSecond, 4713)) << "nothing was noted";
}

TEST_F(LockWaitsTest, EachWaitIsNotedByItself) {
  look(300, 1, 150);
  look(400, 2, 350);
  ASSERT_EQ(seen().seen.size(), 2u);
  EXPECT_EQ(seen().seen[0].to, 300);
  EXPECT_EQ(seen().seen[1].from, 350);
}

TEST_F(LockWaitsTest, AHolderBetweenItsStatementsHasNoExecution) {
  tailor_log_record mark{};
  mark.kind = TAILOR_LOG_EXECUTION_END;
  mark.a = 2;
  ASSERT_TRUE(holder_.state.add_activity(holder_.id().pid, mark, 120).ok());
  look();
  ASSERT_EQ(seen().seen.size(), 1u);
  EXPECT_EQ(seen().seen[0].process, holder_.id());
  EXPECT_EQ(seen().seen[0].execution, ExecutionId{});
}

TEST_F(LockWaitsTest, MarksThatAreNotReadYetMaySayAnother) {
  waits_.settled = kSeen - 1;
  look();
  EXPECT_TRUE(seen().seen.empty());
  waits_.settled = kSeen;
  holder_.settled = kSeen - 1;
  look();
  ASSERT_EQ(seen().seen.size(), 1u);
  EXPECT_EQ(seen().seen[0].execution, ExecutionId{}) << "of the holder, too";
  holder_.settled = kSeen;
  look();
  ASSERT_EQ(seen().seen.size(), 1u);
  EXPECT_EQ(seen().seen[0].execution, holder_.running.at(2).record.id) << "until they are read";
}

TEST_F(LockWaitsTest, AWaitOutsideOfExecutionsIsNobodys) {
  look(kLook, 4711, kBegan - 1);
  EXPECT_TRUE(seen().seen.empty());
}

TEST_F(LockWaitsTest, OthersAreNotBelieved) {
  watcher_.uid = kUid + 1;
  look();
  EXPECT_TRUE(seen().seen.empty()) << "of another user";
  watcher_.uid = kUid;
  watcher_.record.cgroup = "/another";
  look();
  EXPECT_TRUE(seen().seen.empty()) << "of another container";
  watcher_.record.cgroup = "/server";
  watcher_.record.engine_name = "another";
  look();
  EXPECT_TRUE(seen().seen.empty()) << "of another engine";
  watcher_.record.engine_name = "engine";
  look(kLook, 4711, kSeen, {99, 11});
  EXPECT_TRUE(seen().seen.empty()) << "a process that nobody knows, and the one that waits";
  look(kLook, 4711, kLook + 1);
  EXPECT_TRUE(seen().seen.empty()) << "seen before it was";
}

TEST_F(LockWaitsTest, OfTwoProcessesWithOnePidNoneIsChosen) {
  ProcessEntry& other = of_pid(6012);
  meet(other, 12);
  look();
  EXPECT_TRUE(seen().seen.empty());
  other.record.cgroup = "/another";
  look();
  EXPECT_EQ(seen().seen.size(), 1u);
}

TEST_F(LockWaitsTest, TooManyAreCounted) {
  for (std::uint64_t i = 1; i <= profile::kMostBlockers + 3; ++i) look(kLook, i);
  EXPECT_EQ(seen().seen.size(), profile::kMostBlockers);
  EXPECT_EQ(seen().left_out, 3u);
}

TEST_F(LockWaitsTest, ProcessesThatAreGoneAreForgotten) {
  for (std::uint32_t pid = 20'000; pid < 24'000; ++pid) {
    ProcessEntry& entry = of_pid(static_cast<std::int32_t>(pid));
    meet(entry, pid);
    entry.connection = 0;
    entry.ended = 20;
    if (pid % 100 == 0) {
      while (table_.trim(30) > 0) {
      }
    }
  }
  look();
  EXPECT_EQ(seen().seen.size(), 1u) << "and others are known";
}

}  // namespace
}  // namespace tailor::pipeline
