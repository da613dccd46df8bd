// The agent as an engine sees it, against the other end of its socket.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <tailor/agent.h>
#include <tailor/tag.h>
#include <tailor/thread_area.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <map>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/unit/agent/fake_daemon.h"

namespace tailor::agent::testing {
namespace {

using Body = v1::AgentMessage;

std::uint32_t own_tid() {
  return static_cast<std::uint32_t>(::syscall(SYS_gettid));
}

// First of this file: the process has had no agent yet.
TEST(AgentOff, EveryFunctionDoesNothing) {
  ::setenv("TAILOR_DISABLE", "1", 1);
  EXPECT_EQ(tailor_agent_start(nullptr), -ECANCELED);
  ::unsetenv("TAILOR_DISABLE");
  EXPECT_EQ(tailor_thread_register("x"), -ECANCELED);
  EXPECT_EQ(tailor_thread_slot(), nullptr);
  EXPECT_EQ(tailor_plan_new().id, 0u);
  EXPECT_EQ(tailor_execution_begin(1, nullptr, 3), 0u);
  tailor_mark_execution_begin(0, 0);
  tailor_mark_pipeline_begin(1);
  tailor_region_remove(nullptr);
  tailor_agent_stop(0);
  tailor_agent_get_counters(nullptr);
  EXPECT_EQ(tailor_tag(nullptr, 1, 1), 0u);
}

class AgentTest : public ::testing::Test {
 protected:
  void start() {
    tailor_agent_options options{};
    options.size = sizeof(options);
    options.engine_name = "engine";
    options.engine_version = "1.2";
    options.tag_strategy = TAILOR_TAGS_R15;
    options.socket_path = daemon_.path().c_str();
    options.queue_bytes = 4 << 20;
    options.log_records = 256;
    ASSERT_EQ(tailor_agent_start(&options), 0);
  }
  void TearDown() override { tailor_agent_stop(1000); }

  std::string serialised_plan() {
    v1::Plan plan;
    plan.set_name("p");
    plan.add_levels()->set_name("operator");
    return plan.SerializeAsString();
  }

  FakeDaemon daemon_;
};

TEST_F(AgentTest, SaysWhoItIs) {
  start();
  EXPECT_EQ(tailor_agent_start(nullptr), -EALREADY);
  v1::Hello hello = daemon_.accept();
  EXPECT_EQ(hello.protocol(), 1u);
  EXPECT_EQ(hello.engine_name(), "engine");
  EXPECT_EQ(hello.engine_version(), "1.2");
  EXPECT_EQ(hello.pid(), static_cast<std::uint32_t>(::getpid()));
  EXPECT_EQ(hello.tag_strategy(), v1::TAGS_R15);
  EXPECT_EQ(hello.instance().size(), 16u);
  Received arena = daemon_.next();
  ASSERT_EQ(arena.message.body_case(), Body::kArenaAdd);
  EXPECT_EQ(arena.credentials_pid, ::getpid());
  EXPECT_TRUE(arena.attached);
}

TEST_F(AgentTest, PlansAndCodeArriveWithWhatTheAgentKnows) {
  start();
  daemon_.accept();
  tailor_plan_ids plan = tailor_plan_new();
  std::string bytes = serialised_plan();
  ASSERT_EQ(tailor_plan_load(plan.id, bytes.data(), bytes.size()), 0);
  v1::CodeObject code;
  code.set_code(std::string(300'000, 'x'));
  bytes = code.SerializeAsString();
  std::uint64_t code_id = tailor_code_new();
  ASSERT_EQ(tailor_code_load(code_id, bytes.data(), bytes.size()), 0);
  tailor_code_unload(code_id);
  tailor_plan_unload(plan.id);
  tailor_plan_unload(plan.id);  // once is enough

  Body loaded = daemon_.until(Body::kPlanLoad).message;
  EXPECT_EQ(loaded.plan_load().id(), plan.id);
  EXPECT_EQ(loaded.plan_load().slot(), plan.slot);
  EXPECT_EQ(loaded.plan_load().generation(), plan.generation);
  EXPECT_EQ(loaded.plan_load().name(), "p");
  Received received = daemon_.next();
  ASSERT_EQ(received.message.body_case(), Body::kCodeLoad);
  EXPECT_TRUE(received.in_memfd);
  EXPECT_EQ(received.message.code_load().id(), code_id);
  EXPECT_EQ(received.message.code_load().code().size(), 300'000u);
  EXPECT_EQ(received.message.code_load().load_tsc(), received.message.tsc());
  EXPECT_EQ(daemon_.next().message.code_unload().code_id(), code_id);
  EXPECT_EQ(daemon_.next().message.plan_unload().plan_id(), plan.id);
  tailor_agent_stop(1000);
  EXPECT_EQ(daemon_.next().message.body_case(), Body::kGoodbye);
}

// An engine that learns late about code that already runs.
TEST_F(AgentTest, CodeThatIsToldLateHasTheTimeSinceWhenItRuns) {
  start();
  daemon_.accept();
  v1::CodeObject code;
  code.set_code("x");
  const std::string bytes = code.SerializeAsString();
  const std::uint64_t in_time = tailor_code_new(), late = tailor_code_new(), early = tailor_code_new();
  ASSERT_EQ(tailor_code_load(in_time, bytes.data(), bytes.size()), 0);
  const Body first = daemon_.until(Body::kCodeLoad).message;
  EXPECT_EQ(first.code_load().id(), in_time);
  EXPECT_EQ(first.code_load().load_tsc(), first.tsc());

  const std::uint64_t past = first.tsc();
  ASSERT_GT(past, 0u);
  ASSERT_EQ(tailor_code_load_since(late, bytes.data(), bytes.size(), past), 0);
  const Body second = daemon_.until(Body::kCodeLoad).message;
  EXPECT_EQ(second.code_load().id(), late);
  EXPECT_EQ(second.code_load().load_tsc(), past);
  EXPECT_GT(second.tsc(), past) << "the message has the time of the call";

  const std::uint64_t future = second.tsc() + (std::uint64_t{1} << 50);
  ASSERT_EQ(tailor_code_load_since(early, bytes.data(), bytes.size(), future), 0);
  const Body third = daemon_.until(Body::kCodeLoad).message;
  EXPECT_EQ(third.code_load().id(), early);
  EXPECT_EQ(third.code_load().load_tsc(), third.tsc()) << "a time in the future counts as now";

  daemon_.stop_listening();
  tailor_code_unload(in_time);
  daemon_.listen();
  daemon_.accept();
  std::map<std::uint64_t, std::uint64_t> again;
  for (int i = 0; i < 2; ++i) {
    const Body said = daemon_.until(Body::kCodeLoad).message;
    again[said.code_load().id()] = said.code_load().load_tsc();
  }
  EXPECT_EQ(again[late], past) << "another daemon is told the same";
  EXPECT_EQ(again[early], third.tsc());
}

TEST_F(AgentTest, ExecutionsCarryLabelsAndHostileTexts) {
  start();
  daemon_.accept();
  std::string long_text(100'000, 'q');
  const tailor_label labels[] = {
      {"user", "caf\xC3\xA9"}, {"query", long_text.c_str()}, {"bad", "a\xFF\xC3"}, {nullptr, nullptr}};
  std::uint64_t execution = tailor_execution_begin(7, labels, 4);
  std::uint8_t id[16];
  tailor_execution_id(execution, id);
  tailor_execution_end(execution, 42, "divided by \xE9");

  v1::ExecutionBegin begin = daemon_.until(Body::kExecutionBegin).message.execution_begin();
  EXPECT_EQ(begin.handle(), execution);
  EXPECT_EQ(begin.plan_id(), 7u);
  EXPECT_EQ(begin.id(), std::string(reinterpret_cast<char*>(id), 16));
  ASSERT_GE(begin.labels_size(), 3);
  EXPECT_EQ(begin.labels(0).value(), "caf\xC3\xA9");
  EXPECT_EQ(begin.labels(1).value(), long_text);
  EXPECT_EQ(begin.labels(2).value(), "a??");
  v1::ExecutionEnd end = daemon_.next().message.execution_end();
  EXPECT_EQ(end.result_rows(), 42u);
  EXPECT_EQ(end.error(), "divided by ?");
}

TEST_F(AgentTest, RunsThatShareAnExecutionAreSaidByTheirElapsedTimes) {
  start();
  daemon_.accept();
  tailor_runs runs{};
  runs.size = sizeof runs;
  std::map<std::uint32_t, std::uint64_t> want;
  const std::uint64_t times[] = {3, 1, 2, 1'000'000, 1'050'000, 77'000'000, 1'000'000, 1ull << 50};
  for (const std::uint64_t ns : times) {
    tailor_runs_add(&runs, ns, 2, ns == 77'000'000);
    ++want[static_cast<std::uint32_t>(std::log(static_cast<double>(ns)) / std::log(1.1))];
  }
  tailor_execution_end_runs(tailor_execution_begin(7, nullptr, 0), &runs);
  tailor_runs none{};
  none.size = sizeof none;
  tailor_execution_end_runs(tailor_execution_begin(7, nullptr, 0), &none);
  none.size = sizeof none - 8;
  tailor_execution_end_runs(tailor_execution_begin(7, nullptr, 0), &none);

  const v1::ExecutionEnd end = daemon_.until(Body::kExecutionEnd).message.execution_end();
  EXPECT_EQ(end.result_rows(), 16u);
  ASSERT_TRUE(end.has_added_runs());
  EXPECT_EQ(end.added_runs().runs(), 8u);
  EXPECT_EQ(end.added_runs().failed(), 1u);
  EXPECT_EQ(end.added_runs().elapsed_sum(), 6 + 2'000'000 + 1'050'000 + 77'000'000 + (1ull << 50));
  EXPECT_EQ(end.added_runs().elapsed_min(), 1u);
  EXPECT_EQ(end.added_runs().elapsed_max(), 1ull << 50);
  std::map<std::uint32_t, std::uint64_t> have;
  std::uint32_t bucket = 0;
  for (int i = 0; i < end.added_runs().bucket_size(); ++i)
    have[bucket += end.added_runs().bucket(i)] = end.added_runs().bucket_runs(i);
  EXPECT_EQ(have, want);
  const v1::ExecutionEnd empty = daemon_.until(Body::kExecutionEnd).message.execution_end();
  ASSERT_TRUE(empty.has_added_runs()) << "no run is not one run";
  EXPECT_EQ(empty.added_runs().runs(), 0u);
  EXPECT_FALSE(daemon_.until(Body::kExecutionEnd).message.execution_end().has_added_runs())
      << "a struct that is too small";
}

// Each bucket's message is within what was reserved for it.
TEST_F(AgentTest, RunsOfAllLengthsFitIntoOneMessage) {
  start();
  daemon_.accept();
  tailor_runs runs{};
  runs.size = sizeof runs;
  for (std::uint64_t& each : runs.buckets) each = UINT64_MAX;
  runs.runs = runs.failed = runs.rows = UINT64_MAX;
  runs.elapsed_ns = runs.shortest_ns = runs.longest_ns = UINT64_MAX;
  tailor_execution_end_runs(tailor_execution_begin(7, nullptr, 0), &runs);
  const v1::ExecutionEnd end = daemon_.until(Body::kExecutionEnd).message.execution_end();
  EXPECT_EQ(end.added_runs().bucket_size(), TAILOR_ELAPSED_BUCKETS);
  EXPECT_EQ(end.added_runs().bucket_runs(469), UINT64_MAX);
}

TEST_F(AgentTest, ThreadsShareTheirSlotsAndLogs) {
  start();
  daemon_.accept();
  Received arena = daemon_.until(Body::kArenaAdd);
  std::size_t bytes = arena.message.arena_add().bytes();
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, arena.attached.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* header = static_cast<const tailor_arena_header*>(memory);
  EXPECT_EQ(header->magic, TAILOR_ARENA_MAGIC);

  std::uint32_t tid = 0;
  std::thread([&] {
    tid = own_tid();
    ASSERT_EQ(tailor_thread_register("worker"), 0);
    *tailor_thread_slot() = 99;
    tailor_mark_pipeline_begin(3);
    tailor_mark_morsel_begin(3, 1000, 500);
  }).join();

  v1::ThreadAdd add = daemon_.until(Body::kThreadAdd).message.thread_add();
  EXPECT_EQ(add.tid(), tid);
  EXPECT_EQ(add.name(), "worker");
  const char* area = static_cast<const char*>(memory) + sizeof(*header) + add.area() * header->area_size;
  auto* slot = reinterpret_cast<const tailor_slot*>(area);
  auto* log = reinterpret_cast<const tailor_log_header*>(area + sizeof(tailor_slot));
  auto* records = reinterpret_cast<const tailor_log_record*>(area + TAILOR_AREA_LOG_OFFSET);
  EXPECT_EQ(slot->tid, tid);
  EXPECT_EQ(slot->use, add.use());
  EXPECT_EQ(slot->state, static_cast<std::uint32_t>(TAILOR_AREA_CLOSED));
  EXPECT_EQ(slot->tag, 0u);
  std::uint64_t first = log->head - 3;
  EXPECT_EQ(records[first].kind, TAILOR_LOG_THREAD_BEGIN);
  EXPECT_EQ(records[first].id, tid);
  EXPECT_EQ(records[first + 1].kind, TAILOR_LOG_PIPELINE_BEGIN);
  EXPECT_EQ(records[first + 2].kind, TAILOR_LOG_MORSEL_BEGIN);
  EXPECT_EQ(records[first + 2].a, 1000u);
  EXPECT_EQ(records[first + 2].b, 500u);
  EXPECT_GT(records[first + 2].tsc, records[first].tsc);
  v1::ThreadRemove remove = daemon_.next().message.thread_remove();
  EXPECT_EQ(remove.area(), add.area());
  EXPECT_EQ(remove.use(), add.use());
  ::munmap(memory, bytes);
}

TEST_F(AgentTest, AThreadSaysWhereItsFrameAnchorIs) {
  start();
  const v1::Hello hello = daemon_.accept();
  const tailor_frame_anchor anchor{};
  tailor_thread_anchor(&anchor);
  // As a BPF program finds it.
  const char* thread = nullptr;
  asm("mov %%fs:0, %0" : "=r"(thread));
  std::uintptr_t address = 0;
  std::memcpy(&address, thread + hello.tag_slot_offset(), sizeof address);
  const auto* slot = reinterpret_cast<const tailor_slot*>(address);
  ASSERT_EQ(static_cast<const void*>(slot), tailor_thread_slot());
  EXPECT_EQ(slot->anchor_at, reinterpret_cast<std::uint64_t>(&anchor));
  tailor_thread_anchor(nullptr);
  EXPECT_EQ(slot->anchor_at, 0u);
}

// What a daemon needs that samples a share of the executions: which one the thread works for, by its marks.
TEST_F(AgentTest, SlotsSayWhichExecutionTheThreadWorksFor) {
  start();
  ASSERT_NE(tailor_thread_slot(), nullptr);
  auto* slot = reinterpret_cast<const tailor_slot*>(tailor_thread_slot());
  const auto number_of = [](std::uint64_t execution) {
    std::uint8_t id[16];
    tailor_execution_id(execution, id);
    std::uint64_t number = 0;
    std::memcpy(&number, id, sizeof number);
    return number;
  };
  const std::uint64_t outer = tailor_execution_begin(1, nullptr, 0),
                      inner = tailor_execution_begin(1, nullptr, 0);
  const tailor_label led[] = {{"leader_execution", "00112233445566778899aabbccddeeff"}};
  const std::uint64_t worker = tailor_execution_begin(1, led, 1);
  EXPECT_NE(number_of(outer), number_of(inner));
  EXPECT_EQ(slot->execution, 0u);
  tailor_mark_execution_begin(outer, 1);
  EXPECT_EQ(slot->execution, number_of(outer));
  tailor_mark_execution_begin(inner, 1);
  EXPECT_EQ(slot->execution, number_of(inner));
  tailor_mark_execution_end(inner);
  EXPECT_EQ(slot->execution, number_of(outer));
  tailor_mark_execution_end(inner);  // fits nothing
  EXPECT_EQ(slot->execution, number_of(outer));
  tailor_mark_execution_begin(worker, 1);
  EXPECT_EQ(slot->execution, 0u) << "its leader decides, which the daemon alone knows";
  tailor_mark_execution_end(outer);  // with what was begun in it
  EXPECT_EQ(slot->execution, 0u);
  for (int i = 0; i < 64; ++i) tailor_mark_execution_begin(outer, 1);
  tailor_mark_execution_begin(inner, 1);
  EXPECT_EQ(slot->execution, number_of(outer)) << "what begins too deep changes nothing";
  for (int i = 0; i < 64; ++i) tailor_mark_execution_end(outer);
  EXPECT_EQ(slot->execution, 0u);
  tailor_mark_execution_begin(inner, 1);
  EXPECT_EQ(slot->execution, number_of(inner));
  tailor_mark_execution_end(inner);
}

// What a sampler needs that reads no log: for whom the thread works.
TEST_F(AgentTest, SlotsSayWhatTheThreadWorksOn) {
  start();
  const v1::Hello hello = daemon_.accept();
  EXPECT_EQ(hello.slot_state(), offsetof(tailor_slot, state_of));
  ASSERT_NE(tailor_thread_slot(), nullptr);
  const auto* slot = reinterpret_cast<const tailor_slot*>(tailor_thread_slot());
  const auto state = [slot] { return slot->states[slot->state_of & 1]; };
  const std::uint32_t parse = tailor_component_declare("parse");
  const std::uint64_t execution = tailor_execution_begin(5, nullptr, 0);
  tailor_mark_execution_begin(execution, 5);
  tailor_mark_pipeline_begin(3);
  tailor_mark_component_begin(parse);
  EXPECT_EQ(state().execution, execution);
  EXPECT_EQ(state().plan, 5u);
  EXPECT_EQ(state().work, std::uint64_t{3} << 32 | parse);
  tailor_mark_morsel_begin(4, 0, 100);
  EXPECT_EQ(state().work, std::uint64_t{4} << 32) << "what operators do begins";
  tailor_mark_execution_end(execution);
  EXPECT_EQ(state().execution, 0u);
  EXPECT_EQ(state().work, 0u);
}

TEST_F(AgentTest, SendsAgainWhatIsLive) {
  start();
  daemon_.accept();
  std::string bytes = serialised_plan();
  tailor_plan_ids kept = tailor_plan_new();
  tailor_plan_ids gone = tailor_plan_new();
  tailor_plan_load(kept.id, bytes.data(), bytes.size());
  tailor_plan_load(gone.id, bytes.data(), bytes.size());
  tailor_component_declare("parse");
  tailor_region_kind kind{sizeof(kind), "table", TAILOR_REGION_HASH_TABLE, gone.id, 0, 1, 8};
  tailor_region_kind_declare(&kind);
  std::uint64_t execution = tailor_execution_begin(kept.id, nullptr, 0);
  daemon_.until(Body::kExecutionBegin);
  daemon_.stop_listening();
  tailor_plan_unload(gone.id);  // takes the region kind along
  std::uint64_t late = tailor_execution_begin(kept.id, nullptr, 0);
  daemon_.listen();

  daemon_.accept();
  std::vector<Body> all;
  // What was said last comes last; what may come behind it must not.
  const auto is_late = [late](const Body& m) {
    return m.has_execution_begin() && m.execution_begin().handle() == late;
  };
  bool heard = false;
  for (Received r = daemon_.next(); r.message.body_case() != Body::BODY_NOT_SET;
       r = heard ? daemon_.next(300) : daemon_.next()) {
    all.push_back(r.message);
    heard = heard || is_late(r.message);
  }
  std::vector<std::uint64_t> executions;
  int plans = 0, components = 0;
  for (const Body& m : all) {
    EXPECT_FALSE(m.has_region_kind());
    EXPECT_FALSE(m.has_plan_unload());
    if (m.has_plan_load()) {
      ++plans;
      EXPECT_EQ(m.plan_load().id(), kept.id);
    }
    if (m.has_component_declare()) ++components;
    if (m.has_execution_begin()) executions.push_back(m.execution_begin().handle());
  }
  EXPECT_EQ(plans, 1);
  EXPECT_EQ(components, 1);
  EXPECT_THAT(executions, ::testing::ElementsAre(execution, late));
}

TEST_F(AgentTest, BarrierWaitsForTheDaemon) {
  start();
  daemon_.accept();
  EXPECT_EQ(tailor_agent_barrier(50), 0);
  std::uint64_t first = daemon_.until(Body::kBarrier).message.barrier().sequence();
  std::thread daemon([&] {
    std::uint64_t second = daemon_.until(Body::kBarrier).message.barrier().sequence();
    EXPECT_GT(second, first);
    daemon_.acknowledge_barrier(second);
  });
  EXPECT_EQ(tailor_agent_barrier(60'000), 1);
  EXPECT_EQ(tailor_agent_connected(), 1);
  daemon.join();
}

TEST_F(AgentTest, ForkedChildHasNoAgentAndLeavesTheParentsAlone) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  start();
  daemon_.accept();
  tailor_thread_register("main");
  std::uint64_t* slot = tailor_thread_slot();
  *slot = 5;
  pid_t child = ::fork();
  if (child == 0) {
    bool quiet =
        tailor_agent_connected() == 0 && tailor_plan_new().id == 0 && tailor_thread_slot() == nullptr;
    *slot = 77;  // generated code of the child may still do this
    tailor_mark_pipeline_begin(1);
    tailor_agent_options options{};
    options.size = sizeof(options);
    options.socket_path = "/nonexistent";
    bool starts =
        tailor_agent_start(&options) == 0 && tailor_plan_new().id != 0 && tailor_thread_slot() != slot;
    tailor_agent_stop(100);
    ::_exit(quiet && starts ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(*slot, 5u);
  EXPECT_NE(tailor_execution_begin(1, nullptr, 0), 0u);
  EXPECT_EQ(daemon_.until(Body::kExecutionBegin).message.execution_begin().plan_id(), 1u);
}

TEST_F(AgentTest, WithoutADaemonEverythingIsCountedAndNothingWaits) {
  daemon_.stop_listening();
  start();
  tailor_agent_counters before{sizeof(before)}, after{sizeof(after)};
  tailor_agent_get_counters(&before);
  for (int i = 0; i < 1000; ++i) tailor_execution_end(tailor_execution_begin(1, nullptr, 0), 0, nullptr);
  std::string big(1 << 20, 'x');
  int refused = 0;
  for (int i = 0; i < 200; ++i) refused += tailor_plan_load(1, big.data(), big.size()) != 0;
  EXPECT_EQ(tailor_plan_load(1, big.data(), std::size_t{1} << 30), -EMSGSIZE);
  EXPECT_EQ(tailor_agent_barrier(1), 0);
  tailor_agent_get_counters(&after);
  EXPECT_EQ(after.connects, before.connects);
  EXPECT_EQ(after.messages_sent, before.messages_sent);
  EXPECT_GE(after.messages_dropped - before.messages_dropped, static_cast<std::uint64_t>(refused) + 1);
  daemon_.listen();
}

// Of the last attempt; waits for one that failed.
std::uint64_t connect_error() {
  tailor_agent_counters counters{sizeof(counters)};
  do {
    ::usleep(1000);
    tailor_agent_get_counters(&counters);
  } while (counters.connect_error == 0);
  return counters.connect_error;
}

TEST_F(AgentTest, WhyNoDaemonIsReachedIsSaid) {
  daemon_.stop_listening();
  start();
  const std::uint64_t error = connect_error();
  EXPECT_TRUE(error == ENOENT || error == ECONNREFUSED) << error;
  tailor_agent_counters before{sizeof(before)}, now{sizeof(now)};
  tailor_agent_get_counters(&before);
  daemon_.listen();
  do {
    ::usleep(1000);
    tailor_agent_get_counters(&now);
  } while (now.connects == before.connects);
  EXPECT_EQ(now.connect_error, 0u);
}

TEST_F(AgentTest, AUserWhoMayNotUseTheSocketIsToldSo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  ASSERT_EQ(::chmod(daemon_.path().c_str(), 0600), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::setgroups(0, nullptr) != 0 || ::setresgid(kNobody, kNobody, kNobody) != 0 ||
        ::setresuid(kNobody, kNobody, kNobody) != 0)
      ::_exit(255);
    start();
    ::_exit(static_cast<int>(connect_error()));
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), EACCES);
}

}  // namespace
}  // namespace tailor::agent::testing
