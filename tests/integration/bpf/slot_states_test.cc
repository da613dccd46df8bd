// The BPF program reads from the slot of a thread for whom it works: always whole, and where it cannot, it
// says so.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <map>
#include <thread>
#include <vector>

#include "agent/current_thread.h"
#include "daemon/bpf/opener.h"
#include "daemon/bpf/sample_encoder.h"
#include "daemon/capture/decode/record_decoder.h"
#include "tailor/thread_area.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

constexpr TimeNs kPatience = 30'000'000'000;

TimeNs raw_now() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &time);
  return TimeNs{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

std::int32_t own_tid() {
  return static_cast<std::int32_t>(::syscall(SYS_gettid));
}

[[gnu::noinline]] void spin(int turns) {
  for (int i = 0; i < turns; ++i) asm volatile("");
}

struct Seen {
  TimeNs time = 0;
  std::uint64_t weight = 0;
  bool asked = false;
  tailor_thread_state state = {};
};

// This process has an agent and samples itself.
class SlotStates : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    tailor_agent_options options{};
    options.size = sizeof options;
    options.socket_path = "/nonexistent/agent.sock";
    options.log_records = 64;
    ASSERT_EQ(tailor_agent_start(&options), 0);
  }
  static void TearDownTestSuite() { tailor_agent_stop(0); }

  // False: this host does not let it, and the test is skipped.
  bool start(TimeNs aggregate = 0) {
    options_.events = {capture::cpu_clock(4000)};
    options_.ring_bytes = std::size_t{1} << 20;
    options_.jitter = false;
    options_.aggregate = aggregate;
    auto sampler = Sampler::start(os::real(), options_);
    if (!sampler) {
      skipped_ = test::skip_if_denied(test::bpf_denied(), sampler.error().message);
      return false;
    }
    sampler_ = *sampler;
    layout_ = layout_of(options_.events, false, false);
    auto number = sampler_->add(::getpid(), 0, layout_);
    EXPECT_TRUE(number.ok());
    number_ = *number;
    const capture::AgentTag tags{
        .key = 1, .thread_slot_offset = agent::tag_slot_offset(), .slot_has_state = true};
    sampler_->tell_agent(::getpid(), &tags);
    return true;
  }
  void stop() {
    sampler_->stop(number_);
    fetch(true);
  }
  void fetch(bool all = false) {
    auto decoder = capture::RecordDecoder::create(layout_);
    ASSERT_TRUE(decoder.ok());
    capture::Batch batch;
    decoder->decode(sampler_->fetch(number_, all), batch);
    for (const capture::Event& event : batch.events) {
      Seen seen{event.time, event.weight};
      if (const std::uint64_t* state = batch.state(event)) {
        seen.asked = true;
        seen.state = {state[0], state[1], state[2]};
      }
      by_thread_[event.tid].push_back(seen);
    }
  }
  // Until `many` samples of the thread fit.
  template <typename Fits>
  bool await(std::int32_t tid, std::size_t many, Fits fits) {
    for (const TimeNs end = raw_now() + kPatience; raw_now() < end;) {
      fetch(true);
      if (static_cast<std::size_t>(std::ranges::count_if(by_thread_[tid], fits)) >= many) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return false;
  }

  SamplerOptions options_;
  std::shared_ptr<Sampler> sampler_;
  std::uint32_t number_ = 0;
  capture::RingLayout layout_;
  std::string skipped_;
  std::map<std::int32_t, std::vector<Seen>> by_thread_;
};

constexpr std::uint64_t kPlans = 1000;  // the plan of execution n has this number more
constexpr std::uint32_t kPipelines = 7;

// Marks as fast as it can: executions, with a pipeline that follows from the execution and a component in it.
void mark_on_and_on(const std::atomic<bool>& ended, std::atomic<std::int32_t>& tid) {
  ASSERT_EQ(tailor_thread_register("marks"), 0);
  tid = own_tid();
  for (std::uint64_t execution = 1; !ended; ++execution) {
    const auto pipeline = static_cast<std::uint32_t>(1 + execution % kPipelines);
    tailor_mark_execution_begin(execution, execution + kPlans);
    tailor_mark_pipeline_begin(pipeline);
    tailor_mark_component_begin(pipeline + 100);
    spin(3);
    tailor_mark_execution_end(execution);
  }
}

bool is_whole(const tailor_thread_state& state) {
  if (state.execution == 0) return state.plan == 0 && state.work == 0;
  const std::uint64_t pipeline = 1 + state.execution % kPipelines;
  return state.plan == state.execution + kPlans && (state.work == 0 || state.work == pipeline << 32 ||
                                                    state.work == (pipeline << 32 | (pipeline + 100)));
}

TEST_F(SlotStates, AreWholeWheneverASampleComes) {
  if (!start()) GTEST_SKIP() << skipped_;
  std::atomic<bool> ended = false;
  std::atomic<std::int32_t> tid = 0, other_tid = 0;
  std::thread marks([&] { mark_on_and_on(ended, tid); });
  std::thread other([&] {
    other_tid = own_tid();
    while (!ended) spin(1000);
  });
  while (tid == 0 || other_tid == 0) std::this_thread::yield();
  EXPECT_TRUE(await(tid, 1000, [](const Seen& seen) { return seen.asked && seen.state.execution != 0; }));
  EXPECT_TRUE(await(other_tid, 100, [](const Seen& seen) { return seen.asked; }));
  ended = true;
  marks.join();
  other.join();
  stop();
  std::uint64_t torn = 0, without = 0;
  for (const Seen& seen : by_thread_[tid]) {
    if (!seen.asked) continue;  // of before the agent was told of
    // It begins and ends without a slot.
    if (seen.state.execution == TAILOR_NO_STATE) {
      ++without;
      EXPECT_EQ(seen.state.plan, capture::kNoSlot);
    } else {
      torn += !is_whole(seen.state);
    }
  }
  EXPECT_EQ(torn, 0u);
  EXPECT_LT(without, by_thread_[tid].size() / 10);
  for (const Seen& seen : by_thread_[other_tid]) {
    if (!seen.asked) continue;
    EXPECT_EQ(seen.state.execution, TAILOR_NO_STATE);
    EXPECT_EQ(seen.state.plan, capture::kNoSlot) << "it never had one";
  }
}

// Samples of an agent whose slots say nothing have no state at all.
TEST_F(SlotStates, AreNotAskedOfAgentsThatKeepNone) {
  if (!start()) GTEST_SKIP() << skipped_;
  const capture::AgentTag tags{.key = 1, .thread_slot_offset = agent::tag_slot_offset()};
  sampler_->tell_agent(::getpid(), &tags);
  fetch();
  by_thread_.clear();
  std::atomic<bool> ended = false;
  std::atomic<std::int32_t> tid = 0;
  std::thread marks([&] { mark_on_and_on(ended, tid); });
  while (tid == 0) std::this_thread::yield();
  EXPECT_TRUE(await(tid, 100, [](const Seen&) { return true; }));
  ended = true;
  marks.join();
  stop();
  for (const Seen& seen : by_thread_[tid]) EXPECT_FALSE(seen.asked);
}

// Runs with the thread registers of another thread, as a worker of io_uring does. So it may use nothing of
// libc.
std::atomic<int> worker_ended = 0;
int work_as_another(void*) {
  while (worker_ended.load(std::memory_order_relaxed) == 0) spin(1000);
  ::syscall(SYS_exit, 0);
  return 0;
}

TEST_F(SlotStates, OfAnotherThreadAreNotBelieved) {
  if (!start()) GTEST_SKIP() << skipped_;
  std::atomic<bool> ended = false;
  std::atomic<std::int32_t> tid = 0, worker = 0;
  std::vector<std::byte> stack(std::size_t{64} << 10);
  std::thread marks([&] {
    ASSERT_EQ(tailor_thread_register("creator"), 0);
    tailor_mark_execution_begin(5, 5 + kPlans);
    constexpr int kShared = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
    worker = ::clone(work_as_another, stack.data() + stack.size(), kShared, nullptr);
    tid = own_tid();
    while (!ended) spin(1000);
  });
  while (tid == 0) std::this_thread::yield();
  ASSERT_GT(worker, 0);
  const auto is_fifth = [](const Seen& seen) { return seen.state.execution == 5; };
  EXPECT_TRUE(await(tid, 50, is_fifth));
  EXPECT_TRUE(await(worker, 50, [](const Seen& seen) { return seen.asked; }));
  worker_ended = 1;
  while (::syscall(SYS_tgkill, ::getpid(), worker.load(), 0) == 0) std::this_thread::yield();
  ended = true;
  marks.join();
  stop();
  std::size_t all = 0, unread = 0;
  for (const Seen& seen : by_thread_[worker]) {
    if (!seen.asked) continue;
    ++all;
    EXPECT_EQ(seen.state.execution, TAILOR_NO_STATE);
    unread += seen.state.plan == capture::kSlotUnread ? 1 : 0;
    EXPECT_TRUE(seen.state.plan == capture::kNoSlot || seen.state.plan == capture::kSlotUnread);
  }
  // A thread that ends gives its memory up, and is still sampled in the kernel for a moment.
  EXPECT_LE(unread, all / 10);
}

// Sums are of one state each, and none of their weight is lost.
TEST_F(SlotStates, TellSumsApart) {
  if (!start(100'000'000)) GTEST_SKIP() << skipped_;
  std::atomic<bool> ended = false;
  std::atomic<std::int32_t> tid = 0;
  std::thread turns([&] {
    ASSERT_EQ(tailor_thread_register("turns"), 0);
    tid = own_tid();
    for (std::uint64_t turn = 0; !ended; ++turn) {
      tailor_mark_execution_begin(1 + turn % 2, 1 + turn % 2 + kPlans);
      spin(3'000'000);
      tailor_mark_execution_end(1 + turn % 2);
    }
  });
  while (tid == 0) std::this_thread::yield();
  const auto is_of = [](std::uint64_t execution) {
    return [execution](const Seen& seen) { return seen.state.execution == execution; };
  };
  EXPECT_TRUE(await(tid, 3, is_of(1)));
  EXPECT_TRUE(await(tid, 3, is_of(2)));
  ended = true;
  turns.join();
  stop();
  const tailor_bpf_counts counts = sampler_->counts(number_);
  EXPECT_GT(counts.summed, 0u);
  std::uint64_t weight = 0;
  std::map<std::uint64_t, std::uint64_t> by_execution;
  for (const auto& [thread, all] : by_thread_) {
    for (const Seen& seen : all) {
      weight += seen.weight;
      if (thread != tid) continue;
      by_execution[seen.state.execution] += seen.weight;
      if (seen.asked && seen.state.execution != TAILOR_NO_STATE && seen.state.execution != 0) {
        EXPECT_EQ(seen.state.plan, seen.state.execution + kPlans);
      }
    }
  }
  EXPECT_EQ(weight, counts.taken * options_.events.front().period);
  // Both take turns of the same length.
  const double one = static_cast<double>(by_execution[1]), two = static_cast<double>(by_execution[2]);
  EXPECT_NEAR(one / (one + two), 0.5, 0.3);
}

// A page that is not resident is not paged in, and what it holds is not guessed.
TEST_F(SlotStates, OfADroppedPageAreCountedAsUnread) {
  if (!start()) GTEST_SKIP() << skipped_;
  std::atomic<int> phase = 0;
  std::atomic<std::int32_t> tid = 0;
  std::atomic<std::uint64_t*> slot = nullptr;
  std::thread spins([&] {
    ASSERT_EQ(tailor_thread_register("spins"), 0);
    tailor_mark_execution_begin(5, 5 + kPlans);
    slot = tailor_thread_slot();
    tid = own_tid();
    while (phase == 0) spin(1000);
    tailor_mark_component_begin(9);  // brings the page back
    while (phase == 1) spin(1000);
  });
  while (tid == 0) std::this_thread::yield();
  const auto has_state = [](std::uint64_t work) {
    return [work](const Seen& seen) { return seen.state.execution == 5 && seen.state.work == work; };
  };
  const auto is_unread = [](const Seen& seen) {
    return seen.state.execution == TAILOR_NO_STATE && seen.state.plan == capture::kSlotUnread;
  };
  EXPECT_TRUE(await(tid, 20, has_state(0)));
  EXPECT_EQ(std::ranges::count_if(by_thread_[tid], is_unread), 0) << "while the page is there";
  const auto page = reinterpret_cast<std::uintptr_t>(slot.load()) & ~std::uintptr_t{4095};
  ASSERT_EQ(::madvise(reinterpret_cast<void*>(page), 4096, MADV_DONTNEED), 0);
  const TimeNs dropped = raw_now();
  EXPECT_TRUE(await(tid, 20, is_unread));
  const TimeNs last = raw_now();
  phase = 1;
  EXPECT_TRUE(await(tid, 20, has_state(9)));
  phase = 2;
  spins.join();
  stop();
  // Clocks are converted: what lies near a border belongs to either side.
  constexpr TimeNs kNear = 2'000'000;
  for (const Seen& seen : by_thread_[tid]) {
    if (seen.time < dropped + kNear || seen.time > last - kNear) continue;
    EXPECT_TRUE(is_unread(seen)) << seen.state.execution;
  }
}

}  // namespace
}  // namespace tailor::bpf
