// How often a register of code that knows nothing of tags would be taken for a tag: values of r13 and r15,
// read after every single instruction of programs in libc, libstdc++ and a JVM, are given to the daemon's own
// rule.
//
// TAILOR_STEPS says how many instructions are stepped in each program; `full` steps enough to have the bound
// below 1e-6 by the recorded values alone.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <thread>

#include "daemon/attribute/attribute.h"
#include "tailor/tag.h"
#include "tests/support/engine_messages.h"
#include "tests/support/register_steps.h"

namespace tailor {
namespace {

constexpr std::uint32_t kPlans = 256;  // live at once
constexpr int kKeys = 16;              // processes draw their own

// An engine with many plans of many components, at slots as the agent gives them.
process::ProcessState engine(std::uint64_t key) {
  process::ProcessState state({42, 1}, {});
  state.start_agent(1, key, 100);
  for (std::uint32_t i = 1; i <= kPlans; ++i) {
    v1::Plan plan = test::small_plan(i, i, 1 + i % 15);
    for (auto [level, count] : {std::pair{0, 50u}, {1, 200u}, {2, 5000u}}) {
      v1::Level& l = *plan.mutable_levels(level);
      l.set_component_count(count);
      while (level > 0 && l.links_size() < static_cast<int>(count)) l.add_links(1 << 1);
    }
    EXPECT_TRUE(state.load_plan(plan, 110).ok());
  }
  return state;
}

bool believed(const process::ProcessState& state, std::uint64_t value) {
  capture::Event sample;
  sample.time = 1000;
  sample.pid = 42;
  sample.tid = 1;
  sample.ip = sample.user_ip = 0x7f0000001000;
  sample.has_tag = true;
  sample.tag = value;
  return attribute::attribute(sample, {}, &state).how == profile::How::kTag;
}

struct Verdict {
  std::uint64_t values = 0, distinct = 0;  // recorded
  double accepted = 0;                     // of them, the mean over keys
  double bound() const {
    return values == 0 ? 1 : (accepted + 3) / static_cast<double>(values);
  }  // 95 %, Poisson
};

Verdict judge(const test::SteppedRegisters& seen) {
  Verdict verdict;
  std::mt19937_64 random(7);
  for (int k = 0; k < kKeys; ++k) {
    const process::ProcessState state = engine(random());
    for (const auto* of : {&seen.r13, &seen.r15}) {
      for (const auto& [value, times] : *of) {
        if (k == 0) verdict.values += times, ++verdict.distinct;
        if (believed(state, value)) verdict.accepted += static_cast<double>(times) / kKeys;
      }
    }
  }
  return verdict;
}

std::uint64_t steps_of_each() {
  const char* said = std::getenv("TAILOR_STEPS");
  return said == nullptr ? 100'000 : std::strtoull(said, nullptr, 10);
}

class Program {
 public:
  explicit Program(std::vector<const char*> command) : pid_(::fork()) {
    if (pid_ != 0) return;
    command.push_back(nullptr);
    ::execvp(command[0], const_cast<char* const*>(command.data()));
    ::_exit(127);
  }
  ~Program() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool runs() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }

 private:
  pid_t pid_;
};

void nothing_is_believed(std::vector<const char*> command, std::chrono::milliseconds warm_up) {
  Program program(std::move(command));
  std::this_thread::sleep_for(warm_up);
  if (!program.runs()) GTEST_SKIP() << "the program does not run here";
  test::SteppedRegisters seen;
  if (Status stepped = test::step_registers(program.pid(), steps_of_each(), seen); !stepped.ok())
    GTEST_SKIP() << stepped.error().message;
  const Verdict verdict = judge(seen);
  std::printf(
      "%lu values recorded, %lu distinct, under %d keys: accepted %.2f, so below %.2g of values (95 %%)\n",
      verdict.values, verdict.distinct, kKeys, verdict.accepted, verdict.bound());
  EXPECT_EQ(verdict.values, 2 * seen.steps);
  // A short run may see a single loop.
  EXPECT_GT(verdict.distinct, steps_of_each() >= 1'000'000 ? 100u : 4u);
  EXPECT_LE(verdict.accepted, 1e-6 * static_cast<double>(verdict.values));
  if (steps_of_each() >= 3'000'000) {
    EXPECT_LE(verdict.bound(), 1e-6);
  }
}

TEST(FalseAccepts, InTheCAndCxxLibraries) {
  nothing_is_believed({TARGETS "/library_work"}, std::chrono::milliseconds(100));
}

TEST(FalseAccepts, InAJvm) {
  if (std::system("java -version >/dev/null 2>&1") != 0) GTEST_SKIP() << "there is no java here";
  nothing_is_believed({"java", SOURCES "/JavaWork.java"}, std::chrono::milliseconds(4000));
}

// The broken twins: real tags among the values are found, and none of them with one bit changed.
TEST(FalseAccepts, RealTagsAreBelieved) {
  std::mt19937_64 random(7);
  const std::uint64_t key = random();
  const process::ProcessState state = engine(key);
  test::SteppedRegisters seen;
  for (std::uint32_t plan = 1; plan <= kPlans; ++plan)
    ++seen.r15[tailor_tag_make(key, plan, 1 + plan % 15, 1 + plan % 50, 1 + plan % 200)];
  EXPECT_GT(judge(seen).accepted, 0.9 * kPlans / kKeys);
  int unchecked = 0;
  for (const auto& [tag, times] : seen.r15) unchecked += believed(state, tag ^ (std::uint64_t{1} << 63));
  EXPECT_EQ(unchecked, 0) << "a check with one bit wrong";
}

}  // namespace
}  // namespace tailor
