// Real agents against the real server: kills on both sides, forks, churn, overflow.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "tests/integration/agent/subprocess.h"
#include "tests/support/process_state.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/registration/recording_sink.h"

namespace tailor::registration::testing {
namespace {

using Body = v1::AgentMessage;

std::string engine_path() {
  return TAILOR_TEST_ENGINE;
}

// A child process says once that it has come so far.
class Milestone {
 public:
  Milestone() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) std::abort();
  }
  ~Milestone() {
    ::close(ends_[0]);
    if (ends_[1] >= 0) ::close(ends_[1]);
  }
  Milestone(const Milestone&) = delete;
  Milestone& operator=(const Milestone&) = delete;

  void reach() const {
    if (::write(ends_[1], "", 1) != 1) std::abort();
  }
  // In the parent, once. False: the child has ended before.
  bool wait() {
    ::close(std::exchange(ends_[1], -1));
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  int ends_[2] = {-1, -1};
};

class AgentDaemonTest : public ::testing::Test {
 protected:
  RecordingSink& sink() { return server_.sink; }
  bool until_ended(Subprocess& process) {
    return server_.until([&] { return process.ended(); });
  }
  int open_descriptors() {
    server_.sink.arenas.clear();
    return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
  }
  tailor_agent_options with_small_queue() {
    tailor_agent_options options{};
    options.size = sizeof(options);
    options.socket_path = server_.path().c_str();
    options.queue_bytes = 256 * 1024;
    return options;
  }
  TestServer server_;
};

TEST_F(AgentDaemonTest, AQueryArrivesWhole) {
  Subprocess engine({engine_path(), server_.path(), "once"});
  ASSERT_TRUE(until_ended(engine));
  EXPECT_EQ(engine.exit_code(), 0);
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  EXPECT_EQ(sink().gone[0].reason, GoneReason::kGoodbye);
  EXPECT_EQ(sink().connected[0].process.pid, engine.pid());
  EXPECT_EQ(sink().connected[0].hello.engine_name(),
            "test \x1b]0;engine\x07");  // hostile, and none of our business
  std::vector<Body::BodyCase> kinds;
  for (const PeerMessage& m : sink().messages) kinds.push_back(m.message.body_case());
  EXPECT_THAT(kinds, ::testing::IsSupersetOf({Body::kPlanLoad, Body::kCodeLoad, Body::kExecutionBegin,
                                              Body::kExecutionEnd, Body::kCodeUnload, Body::kPlanUnload}));
  EXPECT_EQ(sink().records(TAILOR_LOG_MORSEL_BEGIN), 50u);
  EXPECT_EQ(sink().lost(), 0u);
  for (const ActivityRecords& run : sink().activity) EXPECT_EQ(run.tid, engine.pid());
}

// What settles has come: no message is older than the last time settled before it.
TEST_F(AgentDaemonTest, SettledTimesHold) {
  struct Checker : RecordingSink {
    void on_message(PeerMessage event) override {
      late += !settled.empty() && event.message.tsc() < settled.back().tsc;
      RecordingSink::on_message(std::move(event));
    }
    void on_activity(ActivityRecords event) override {
      for (const auto& record : event.records) late += !settled.empty() && record.tsc < settled.back().tsc;
      RecordingSink::on_activity(std::move(event));
    }
    int late = 0;
  } checker;
  ServerOptions options;
  options.socket_path = server_.path() + ".2";
  auto server = Server::listen(options, checker);
  ASSERT_TRUE(server.ok());
  checker.server = server->get();
  Subprocess engine({engine_path(), options.socket_path, "busy"});
  for (int i = 0; i < 50'000 && checker.count(Body::kExecutionEnd) < 300; ++i) (*server)->poll(1);
  EXPECT_GE(checker.count(Body::kExecutionEnd), 300u);
  EXPECT_GT(checker.settled.size(), 1u);
  // A thread can be interrupted between its time stamp and its store; then a call that has not returned is
  // late, which the contract allows. It is rare.
  EXPECT_LT(static_cast<std::size_t>(checker.late), checker.messages.size() / 100);
}

TEST_F(AgentDaemonTest, EnginesKilledAtAnyMoment) {
  int before = open_descriptors();
  for (int i = 0; i < 25; ++i) {
    Subprocess engine({engine_path(), server_.path(), "busy"});
    // Some before they are known, the others ever later.
    std::size_t known = sink().connected.size();
    if (i >= 5) {
      ASSERT_TRUE(server_.until([&] { return sink().connected.size() > known; }));
    }
    server_.poll_for(std::chrono::milliseconds(2 * (i % 10)));
    engine.kill();
  }
  server_.until([&] { return server_->connection_count() == 0; });
  server_.poll(20);
  EXPECT_EQ(server_->connection_count(), 0u);
  EXPECT_EQ(sink().gone.size(), sink().connected.size());
  EXPECT_GE(sink().connected.size(), 20u);
  EXPECT_TRUE(sink().rejected.empty());
  EXPECT_EQ(server_->counters().protocol_errors, 0u);
  EXPECT_EQ(server_->counters().log_malformed, 0u);
  // Threads of the server close connections, and some of an earlier server may have been open before.
  EXPECT_TRUE(server_.until([&] { return open_descriptors() <= before; })) << open_descriptors();
}

TEST_F(AgentDaemonTest, DaemonKilledAndStartedAgain) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  server_.stop();
  auto daemon = [&] {
    pid_t pid = ::fork();
    if (pid == 0) {
      server_.start();
      while (true) server_->poll(5);
    }
    return pid;
  };
  pid_t first = daemon();
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "survivor";
  options.socket_path = server_.path().c_str();
  ASSERT_EQ(tailor_agent_start(&options), 0);
  ASSERT_TRUE(tailor_agent_barrier(60'000));
  std::uint64_t execution = tailor_execution_begin(1, nullptr, 0);
  tailor_mark_execution_begin(execution, 1);
  std::uint32_t component = tailor_component_declare("parse");
  ASSERT_TRUE(tailor_agent_barrier(60'000));
  ::kill(first, SIGKILL);
  ::waitpid(first, nullptr, 0);
  for (unsigned i = 0; i < 100; ++i) tailor_mark_iteration(component, i);
  tailor_execution_end(tailor_execution_begin(2, nullptr, 0), 0, nullptr);

  server_.start();  // over the socket file that the killed one left
  ASSERT_TRUE(server_.until([&] { return sink().records(TAILOR_LOG_ITERATION) == 100; }));
  ASSERT_TRUE(server_.until([&] { return sink().count(Body::kComponentDeclare) == 1; }));
  ASSERT_EQ(sink().count(Body::kExecutionBegin), 1u);
  for (const PeerMessage& m : sink().messages) {
    if (m.message.has_execution_begin()) {
      EXPECT_EQ(m.message.execution_begin().handle(), execution);
    }
  }
  tailor_agent_counters counters{sizeof(counters)};
  tailor_agent_get_counters(&counters);
  EXPECT_EQ(counters.disconnects, 1u);
  EXPECT_GE(counters.connects, 2u);
  EXPECT_GE(counters.messages_dropped, 1u);  // the execution that nobody saw
  tailor_agent_stop(1000);
}

TEST_F(AgentDaemonTest, OverflowIsCountedAndWhatEndsGetsThrough) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  const tailor_agent_options options = with_small_queue();
  // The agent of this process may have been started by an earlier test, with its larger queue; this test has
  // a process of its own.
  Milestone full;
  pid_t child = ::fork();
  if (child == 0) {
    if (tailor_agent_start(&options) != 0) ::_exit(1);
    std::string name(60'000, 'n');
    const tailor_label label{"query", name.c_str()};
    std::vector<std::uint64_t> executions;
    for (int i = 0; i < 200; ++i) executions.push_back(tailor_execution_begin(1, &label, 1));
    tailor_agent_counters counters{sizeof(counters)};
    tailor_agent_get_counters(&counters);
    std::uint64_t dropped = counters.messages_dropped;
    for (std::uint64_t execution : executions) tailor_execution_end(execution, 0, nullptr);
    tailor_agent_get_counters(&counters);
    bool counted = dropped > 100 && counters.messages_dropped == dropped;
    full.reach();
    bool reached = tailor_agent_barrier(60'000);
    tailor_agent_stop(1000);
    ::_exit(counted && reached ? 0 : counted ? 3 : 2);
  }
  ASSERT_TRUE(full.wait());  // the daemon is slow: the socket and the queue fill up
  int status = -1;
  ASSERT_TRUE(server_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(sink().count(Body::kExecutionEnd), 200u);
  EXPECT_LT(sink().count(Body::kExecutionBegin), 100u);
}

// A daemon that is slow, and an engine that does not wait for it at its end.
TEST_F(AgentDaemonTest, WhatAProcessTakesAlongIsCounted) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  const tailor_agent_options options = with_small_queue();
  Milestone full;
  pid_t child = ::fork();
  if (child == 0) {
    if (tailor_agent_start(&options) != 0) ::_exit(1);
    if (!tailor_agent_barrier(60'000)) ::_exit(2);
    const std::string name(1000, 'n');
    const tailor_label label{"query", name.c_str()};
    tailor_agent_counters counters{sizeof(counters)};
    tailor_agent_get_counters(&counters);
    for (const std::uint64_t before = counters.messages_dropped; counters.messages_dropped < before + 1000;) {
      tailor_execution_begin(1, &label, 1);
      tailor_agent_get_counters(&counters);
    }
    full.reach();
    ::_exit(0);
  }
  ASSERT_TRUE(server_.until([&] { return sink().count(Body::kBarrier) == 1; }));
  ASSERT_TRUE(full.wait());  // nothing is read meanwhile
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  ASSERT_FALSE(sink().arenas.empty());
  const ArenaView& arena = *sink().arenas[0].arena;
  const std::uint64_t taken = arena.messages_taken();
  EXPECT_GT(arena.messages_queued(), taken) << "its queue was full, and has more than a socket";
  // It may have ended between sending one and counting it.
  EXPECT_LE(taken, sink().messages.size());
  EXPECT_GE(taken + 1, sink().messages.size());
  EXPECT_GE(taken, arena.messages_settled());
}

// Each execution arrives with all of its labels, and few of them were sent.
TEST_F(AgentDaemonTest, LabelsThatComeAgainAreSentOnce) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  constexpr std::size_t kTextBytes = 4000;
  constexpr std::size_t kExecutions = 100;
  const std::string text(kTextBytes, 'q');
  tailor_agent_options options = with_small_queue();
  options.queue_bytes = 4 << 20;
  const pid_t child = ::fork();
  if (child == 0) {
    if (tailor_agent_start(&options) != 0 || !tailor_agent_barrier(60'000)) ::_exit(1);
    const tailor_label labels[] = {{"user", "ada"}, {"query", text.c_str()}};
    for (std::size_t i = 0; i < kExecutions; ++i)
      tailor_execution_end(tailor_execution_begin(1, labels, 2), 0, nullptr);
    if (!tailor_agent_barrier(60'000)) ::_exit(2);
    tailor_agent_counters counters{sizeof(counters)};
    tailor_agent_get_counters(&counters);
    tailor_agent_stop(1000);
    ::_exit(counters.bytes_sent < kExecutions * kTextBytes / 10 ? 0 : 3);
  }
  int status = -1;
  ASSERT_TRUE(server_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(sink().count(Body::kExecutionBegin), kExecutions);
  EXPECT_TRUE(sink().rejected.empty());
  for (const PeerMessage& each : sink().messages) {
    if (!each.message.has_execution_begin()) continue;
    const v1::ExecutionBegin& begin = each.message.execution_begin();
    ASSERT_EQ(begin.labels_size(), 2);
    EXPECT_EQ(begin.labels(0).value(), "ada");
    EXPECT_EQ(begin.labels(1).value(), text);
  }
}

TEST_F(AgentDaemonTest, ABarrierWaitsForRoomInTheQueue) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  const tailor_agent_options options = with_small_queue();
  Milestone full;
  pid_t child = ::fork();
  if (child == 0) {
    if (tailor_agent_start(&options) != 0) ::_exit(1);
    tailor_agent_counters counters{sizeof(counters)};
    auto fill = [&](auto send) {
      tailor_agent_get_counters(&counters);
      for (std::uint64_t before = counters.messages_dropped; counters.messages_dropped < before + 100;) {
        send();
        tailor_agent_get_counters(&counters);
      }
    };
    // Nothing is taken from the socket: first the room for all messages is used, then that of the ends.
    std::string name(1000, 'n');
    const tailor_label label{"query", name.c_str()};
    fill([&] { tailor_execution_begin(1, &label, 1); });
    fill([] { tailor_execution_end(1, 0, nullptr); });
    full.reach();
    bool reached = tailor_agent_barrier(60'000);
    tailor_agent_stop(1000);
    ::_exit(reached ? 0 : 2);
  }
  ASSERT_TRUE(full.wait());
  ASSERT_TRUE(test::eventually([child] { return test::is_asleep(child); }));  // in the barrier
  int status = -1;
  ASSERT_TRUE(server_.until([&] { return ::waitpid(child, &status, WNOHANG) == child; }));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(AgentDaemonTest, ForkedChildrenAreTheirOwnProcesses) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  Subprocess engine({engine_path(), server_.path(), "fork"});
  ASSERT_TRUE(until_ended(engine));
  EXPECT_EQ(engine.exit_code(), 0);
  ASSERT_TRUE(server_.until([&] { return sink().gone.size() == 2; }));
  std::map<pid_t, int> executions;
  std::set<std::string> instances;
  for (const PeerConnected& peer : sink().connected) instances.insert(peer.hello.instance());
  for (const PeerMessage& m : sink().messages) executions[m.process.pid] += m.message.has_execution_begin();
  EXPECT_EQ(instances.size(), 2u);
  ASSERT_EQ(executions.size(), 2u);
  EXPECT_EQ(executions[engine.pid()], 2);
  EXPECT_EQ(server_->counters().foreign_packets, 0u);
  for (const ActivityRecords& run : sink().activity) EXPECT_EQ(run.tid, run.process.pid);
}

TEST_F(AgentDaemonTest, ThreadChurnLosesNothingUncounted) {
  Subprocess engine({engine_path(), server_.path(), "threads", "2000"});
  ASSERT_TRUE(until_ended(engine));
  EXPECT_EQ(engine.exit_code(), 0);
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  std::set<std::int32_t> tids;
  std::map<std::uint32_t, std::size_t> marks;
  for (const ActivityRecords& run : sink().activity) {
    tids.insert(run.tid);
    for (const auto& record : run.records) ++marks[record.id];
  }
  EXPECT_EQ(sink().lost(), 0u);
  for (std::uint32_t k = 1; k <= 5; ++k) EXPECT_EQ(marks[k], 2000u);
  EXPECT_GT(tids.size(), 1900u);  // tids are reused now and then
  EXPECT_EQ(sink().count(Body::kThreadAdd), 2000u);
  EXPECT_EQ(sink().count(Body::kThreadRemove), 2000u);
  EXPECT_LE(sink().arenas.size(), 3u);  // 100 threads at a time, 64 areas in an arena
  EXPECT_GE(std::stoull(engine.output()), 2000u * 6u);
}

TEST_F(AgentDaemonTest, OpenedWithDlopenAndClosedUnderItsThreads) {
  Subprocess engine({TAILOR_TEST_DLOPEN_ENGINE, TAILOR_TEST_AGENT_LIBRARY, server_.path()});
  ASSERT_TRUE(until_ended(engine));
  EXPECT_EQ(engine.exit_code(), 0);
  ASSERT_TRUE(server_.until([&] { return !sink().gone.empty(); }));
  EXPECT_EQ(sink().records(TAILOR_LOG_PIPELINE_BEGIN), 1u);
  EXPECT_EQ(sink().count(Body::kThreadRemove), 1u);
}

TEST_F(AgentDaemonTest, ThreadsOfAnotherPidNamespace) {
  Subprocess engine({"unshare", "--pid", "--fork", "--kill-child", engine_path(), server_.path(), "busy"});
  bool ended = false;
  server_.until([&] {
    ended = engine.ended();
    return ended || sink().count(Body::kExecutionEnd) > 5;
  });
  if (ended) GTEST_SKIP() << "unshare --pid is not allowed here";
  const ProcessId process = sink().connected.at(0).process;
  EXPECT_NE(process.pid, engine.pid());  // the child of unshare
  EXPECT_EQ(sink().connected[0].hello.pid(), 1u);
  std::set<std::int32_t> tids;
  for (const ActivityRecords& run : sink().activity) tids.insert(run.tid);
  EXPECT_TRUE(tids.contains(process.pid));
  EXPECT_EQ(tids.size(), 2u);
  for (std::int32_t tid : tids) {
    EXPECT_TRUE(
        std::filesystem::exists("/proc/" + std::to_string(process.pid) + "/task/" + std::to_string(tid)));
  }
  EXPECT_EQ(server_->counters().untranslated_tids, 0u);
}

}  // namespace
}  // namespace tailor::registration::testing
