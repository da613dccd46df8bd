// The agent in a host that may have no thread of ours: the host pumps.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <tailor/thread_area.h>
#include <unistd.h>

#include <filesystem>

#include "tests/support/process_state.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/agent/fake_daemon.h"

namespace tailor::agent::testing {
namespace {

using Body = v1::AgentMessage;

std::ptrdiff_t entries(const char* folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

class ThreadlessTest : public ::testing::Test {
 protected:
  int start(std::uint32_t flags, std::uint32_t tag_strategy = TAILOR_TAGS_NONE) {
    tailor_agent_options options{};
    options.size = sizeof(options);
    options.engine_name = "backend";
    options.tag_strategy = tag_strategy;
    options.socket_path = daemon_.path().c_str();
    options.queue_bytes = 4 << 20;
    options.log_records = 256;
    options.flags = flags;
    return tailor_agent_start(&options);
  }
  void TearDown() override { tailor_agent_stop(100); }
  // The daemon accepts what a pump has begun.
  v1::Hello connect() {
    EXPECT_EQ(tailor_agent_pump(), 0);
    v1::Hello hello = daemon_.accept();
    EXPECT_EQ(tailor_agent_pump(), 0);
    EXPECT_EQ(tailor_agent_connected(), 1);
    return hello;
  }
  void load_plan(std::uint64_t id, std::size_t name_bytes = 1) {
    v1::Plan plan;
    plan.set_name(std::string(name_bytes, 'p'));
    plan.add_levels()->set_name("operator");
    std::string bytes = plan.SerializeAsString();
    EXPECT_EQ(tailor_plan_load(id, bytes.data(), bytes.size()), 0);
  }
  // Whether an execution that begins now was drawn to have no tags, as the daemon hears it.
  bool has_no_tags() {
    const std::uint64_t execution = tailor_execution_begin(0, nullptr, 0);
    EXPECT_EQ(tailor_agent_pump(), 0);
    const Received said = daemon_.until(Body::kExecutionBegin);
    EXPECT_EQ(said.message.execution_begin().handle(), execution);
    return said.message.execution_begin().tags_off();
  }
  void want_no_tags(std::uint32_t permille) {
    v1::DaemonMessage message;
    message.mutable_settings()->set_untagged_permille(permille);
    daemon_.send(message);
    EXPECT_EQ(tailor_agent_pump(), 0);
  }

  FakeDaemon daemon_;
};

// What is told to have no tags and has them would make their cost seem nothing.
TEST_F(ThreadlessTest, OnlyAnEngineThatAsksHasExecutionsWithoutTags) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD, TAILOR_TAGS_MEMORY_SLOT), 0);
  connect();
  want_no_tags(1000);
  EXPECT_FALSE(has_no_tags()) << "nobody has asked";
  EXPECT_EQ(tailor_execution_tag_strategy(0), static_cast<std::uint32_t>(TAILOR_TAGS_NONE));
  EXPECT_TRUE(has_no_tags());
  want_no_tags(0);
  EXPECT_FALSE(has_no_tags());
}

TEST_F(ThreadlessTest, AnEngineWithoutTagsHasNoneToLeaveOut) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  connect();
  want_no_tags(1000);
  EXPECT_EQ(tailor_execution_tag_strategy(0), static_cast<std::uint32_t>(TAILOR_TAGS_NONE));
  EXPECT_FALSE(has_no_tags());
}

TEST_F(ThreadlessTest, WhoHoldsALockIsSaid) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  connect();
  std::uint32_t holders[20];
  for (std::uint32_t i = 0; i < 20; ++i) holders[i] = 100 + i;
  tailor_blocked(0, 99, holders, 20);
  tailor_blocked(7, 99, holders, 0);
  tailor_blocked(7, 99, holders, 20);
  EXPECT_EQ(tailor_agent_pump(), 0);
  const v1::Blocked said = daemon_.until(Body::kBlocked).message.blocked();
  EXPECT_EQ(said.pid(), 7u);
  EXPECT_EQ(said.since_tsc(), 99u);
  ASSERT_EQ(said.holders_size(), 16) << "not more";
  EXPECT_EQ(said.holders(15), 115u);
}

TEST_F(ThreadlessTest, PumpIsForAgentsWithoutAThread) {
  EXPECT_EQ(tailor_agent_pump(), -ECANCELED);
  EXPECT_EQ(start(TAILOR_AGENT_SURVIVES_FORK), -EINVAL);
  EXPECT_EQ(start(128), -EINVAL);
  ASSERT_EQ(start(0), 0);
  EXPECT_EQ(tailor_agent_pump(), -EALREADY);
}

TEST_F(ThreadlessTest, TheHostSendsWithoutAThread) {
  auto threads = entries("/proc/self/task");
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  EXPECT_EQ(entries("/proc/self/task"), threads);
  tailor_plan_ids plan = tailor_plan_new();
  load_plan(plan.id);
  EXPECT_EQ(tailor_agent_connected(), 0);
  connect();
  EXPECT_EQ(daemon_.until(Body::kPlanLoad).message.plan_load().id(), plan.id);
  std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
  tailor_mark_execution_begin(execution, plan.id);
  EXPECT_EQ(daemon_.next(20).message.body_case(), Body::BODY_NOT_SET);  // nobody has pumped
  EXPECT_EQ(tailor_agent_pump(), 0);
  EXPECT_EQ(daemon_.until(Body::kExecutionBegin).message.execution_begin().handle(), execution);
  EXPECT_EQ(daemon_.until(Body::kThreadAdd).message.thread_add().tid(),
            static_cast<std::uint32_t>(::getpid()));
  tailor_agent_stop(1000);
  EXPECT_EQ(daemon_.until(Body::kGoodbye).message.body_case(), Body::kGoodbye);
  EXPECT_EQ(entries("/proc/self/task"), threads);
}

// A daemon that reads nothing: pumps return, and what was not sent arrives, in order, once it reads again.
TEST_F(ThreadlessTest, AFullSocketBlocksNobodyAndLosesNothing) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  connect();
  constexpr int kPlans = 40;
  for (std::uint64_t i = 1; i <= kPlans; ++i) load_plan(i, 60'000);
  EXPECT_EQ(tailor_agent_pump(), 1);
  EXPECT_EQ(tailor_agent_pump(), 1);
  EXPECT_EQ(tailor_agent_barrier(10), 0);
  std::uint64_t next = 1;
  for (int i = 0; i < 1000 && next <= kPlans; ++i) {
    tailor_agent_pump();
    Received received = daemon_.next(10);
    if (received.message.has_plan_load()) {
      EXPECT_EQ(received.message.plan_load().id(), next);
      ++next;
    }
  }
  EXPECT_EQ(next, kPlans + 1u);
}

// What a new daemon must be told does not fit into its socket at once.
TEST_F(ThreadlessTest, ANewDaemonIsToldInSeveralPumps) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  constexpr int kPlans = 40;
  for (std::uint64_t i = 1; i <= kPlans; ++i) load_plan(i, 60'000);
  daemon_.stop_listening();
  EXPECT_EQ(tailor_agent_pump(), 0);
  daemon_.listen();
  load_plan(kPlans + 1);
  // A pump that is due looks for a daemon again.
  EXPECT_TRUE(test::eventually([] { return tailor_agent_pump() == 1; }));
  daemon_.accept();
  std::uint64_t next = 1;
  for (int i = 0; i < 1000 && next <= kPlans + 1; ++i) {
    tailor_agent_pump();
    Received received = daemon_.next(10);
    if (received.message.has_plan_load()) {
      EXPECT_EQ(received.message.plan_load().id(), next);
      ++next;
    }
  }
  EXPECT_EQ(next, kPlans + 2u);
  EXPECT_EQ(tailor_agent_pump(), 0);
}

TEST_F(ThreadlessTest, BarrierPumps) {
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  connect();
  EXPECT_EQ(tailor_agent_barrier(10), 0);
  daemon_.acknowledge_barrier(daemon_.until(Body::kBarrier).message.barrier().sequence() + 1);
  EXPECT_EQ(tailor_agent_barrier(60'000), 1);
}

TEST_F(ThreadlessTest, AChildOfAForkHasNoneUnlessAsked) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD), 0);
  pid_t child = ::fork();
  if (child == 0) ::_exit(tailor_agent_pump() == -ECANCELED && tailor_thread_slot() == nullptr ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The arena's slots and logs, as the daemon sees them.
struct MappedArena {
  explicit MappedArena(Received received)
      : bytes(received.message.arena_add().bytes()),
        memory(
            static_cast<char*>(::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, received.attached.get(), 0))) {}
  ~MappedArena() { ::munmap(memory, bytes); }
  const char* area(std::uint32_t index) const {
    return memory + sizeof(tailor_arena_header) +
           index * reinterpret_cast<const tailor_arena_header*>(memory)->area_size;
  }
  std::size_t bytes;
  char* memory;
};

TEST_F(ThreadlessTest, AreasSurviveAForkWhereTheHostAsksForIt) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  ASSERT_EQ(start(TAILOR_AGENT_NO_THREAD | TAILOR_AGENT_SURVIVES_FORK), 0);
  tailor_thread_register("main");
  std::uint64_t* slot = tailor_thread_slot();
  *slot = 5;
  v1::Hello parent = connect();
  tailor_plan_ids plan = tailor_plan_new();
  load_plan(plan.id);
  std::uint64_t tag = tailor_tag(&plan, 1, 0);
  std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
  tailor_mark_execution_begin(execution, plan.id);
  pid_t child = ::fork();
  if (child == 0) {
    bool same = tailor_thread_slot() == slot && tailor_tag(&plan, 1, 0) == tag;
    const auto* whole = reinterpret_cast<const tailor_slot*>(slot);
    same = same && whole->states[whole->state_of & 1].execution == 0;  // that was the parent's
    *slot = 77;
    std::uint64_t own = tailor_execution_begin(plan.id, nullptr, 0);
    tailor_mark_execution_begin(own, plan.id);
    for (int i = 0; i < 6'000 && tailor_agent_pump() >= 0 && !tailor_agent_connected(); ++i) ::usleep(10'000);
    same = same && tailor_agent_connected();
    tailor_agent_stop(1000);
    ::_exit(same ? 0 : 1);
  }
  v1::Hello hello = daemon_.accept();
  EXPECT_EQ(hello.pid(), static_cast<std::uint32_t>(child));
  EXPECT_NE(hello.instance(), parent.instance());
  EXPECT_EQ(hello.tag_key(), parent.tag_key());
  MappedArena arena(daemon_.until(Body::kArenaAdd));
  int plans = 0, executions = 0;
  v1::ThreadAdd thread;
  for (Received r = daemon_.next(); r.message.body_case() != Body::kGoodbye; r = daemon_.next()) {
    ASSERT_NE(r.message.body_case(), Body::BODY_NOT_SET);
    if (r.message.has_thread_add()) thread = r.message.thread_add();
    plans += r.message.has_plan_load();
    executions += r.message.has_execution_begin();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(plans, 1);
  EXPECT_EQ(executions, 1);  // its own
  EXPECT_EQ(thread.tid(), static_cast<std::uint32_t>(child));
  EXPECT_EQ(reinterpret_cast<const tailor_slot*>(arena.area(thread.area()))->tag, 77u);
  auto* records =
      reinterpret_cast<const tailor_log_record*>(arena.area(thread.area()) + TAILOR_AREA_LOG_OFFSET);
  EXPECT_EQ(records[0].kind, TAILOR_LOG_THREAD_BEGIN);
  EXPECT_EQ(records[0].id, thread.tid());
  EXPECT_EQ(records[1].kind, TAILOR_LOG_EXECUTION_BEGIN);
  EXPECT_NE(records[1].a, execution);
  // The parent goes on as before.
  EXPECT_EQ(*slot, 5u);
}

}  // namespace
}  // namespace tailor::agent::testing
