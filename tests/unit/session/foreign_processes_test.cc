#include "daemon/session/foreign_processes.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/scripted_input.h"

namespace tailor::session {
namespace {

// Processes that sleep, with perf maps that this test writes for them.
class ForeignProcessesTest : public testing::Test {
 protected:
  ForeignProcessesTest() { script.open(); }
  ~ForeignProcessesTest() override {
    for (const auto& [process, map] : started) {
      ::kill(process.pid, SIGKILL);
      ::waitpid(process.pid, nullptr, 0);
      std::remove(map.c_str());
    }
  }

  ProcessId start(std::size_t functions) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      while (true) ::pause();
    }
    const ProcessId process{pid, 0};
    started.emplace_back(process, "/tmp/perf-" + std::to_string(pid) + ".map");
    std::remove(started.back().second.c_str());  // of an earlier process of this number
    write(process, functions);
    pipeline.on_known_process({process, "sleeps"});
    return process;
  }
  void write(ProcessId process, std::size_t functions) {
    std::ofstream out("/tmp/perf-" + std::to_string(process.pid) + ".map", std::ios::app);
    for (std::size_t i = 0; i < functions; ++i, address += 0x40)
      out << std::hex << address << " 40 function_" << std::dec << address << '\n';
  }

  // Says what there is until nothing more comes. How many rounds that took.
  int say_all(ForeignProcesses& foreign) {
    int rounds = 0;
    while (foreign.is_pending()) {
      const std::uint64_t before = foreign.functions();
      foreign.say();
      largest_step = std::max<std::uint64_t>(largest_step, foreign.functions() - before);
      if (foreign.functions() == before) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      rounds += foreign.functions() > before ? 1 : 0;
    }
    return rounds;
  }
  ForeignProcesses::Moment end() const {
    return {.ending = true, .all_read = true, .is_sampled = [](ProcessId) { return true; }};
  }

  std::uint64_t address = 0x10000;
  std::uint64_t largest_step = 0;
  std::vector<std::pair<ProcessId, std::string>> started;
  test::CollectingSink sink;
  pipeline::Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(ForeignProcessesTest, WhatWasReadIsSaidALittleAtATime) {
  ForeignLimits limits;
  limits.step = 0;
  ForeignProcesses foreign(os::real(), pipeline, pipeline, limits);
  foreign.add(start(20'000), NamesFrom::kAuto);
  EXPECT_EQ(foreign.functions(), 0u) << "nothing is read by the caller";
  const int rounds = say_all(foreign);
  EXPECT_EQ(foreign.functions(), 20'000u);
  EXPECT_LE(largest_step, 512u);
  EXPECT_GE(rounds, 20'000 / 512);
}

TEST_F(ForeignProcessesTest, NobodyWaitsUntilAllOfAnotherIsSaid) {
  ForeignLimits limits;
  limits.step = 0;
  ForeignProcesses foreign(os::real(), pipeline, pipeline, limits);
  const ProcessId large = start(100'000), small = start(10);
  foreign.add(large, NamesFrom::kAuto);
  foreign.add(small, NamesFrom::kAuto);
  while (foreign.is_pending(small)) foreign.say();
  EXPECT_TRUE(foreign.is_pending(large));
  EXPECT_LT(foreign.functions(), 100'000u);
  say_all(foreign);
  EXPECT_EQ(foreign.functions(), 100'010u);
}

TEST_F(ForeignProcessesTest, WhatWaitsIsBoundedAndNothingIsLost) {
  ForeignLimits limits;
  limits.step = 0;
  limits.functions = 1000;
  ForeignProcesses foreign(os::real(), pipeline, pipeline, limits);
  for (int i = 0; i < 8; ++i) foreign.add(start(3000), NamesFrom::kAuto);
  // Each is read once at most before somebody looks at what waits.
  for (int i = 0; i < 3; ++i) {
    say_all(foreign);
    foreign.look(end());
  }
  say_all(foreign);
  EXPECT_EQ(foreign.functions(), 24'000u);
}

TEST_F(ForeignProcessesTest, WhoIsReadHoldsTheWatermarkBackButNotForLong) {
  ForeignProcesses foreign(os::real(), pipeline, pipeline);
  const TimeNs before = os::real().now();
  foreign.add(start(10), NamesFrom::kAuto);
  const TimeNs after = os::real().now();
  const TimeNs known = foreign.known_until(after);
  EXPECT_GE(known, before);
  EXPECT_LE(known, after);
  constexpr TimeNs kHour = 3'600'000'000'000;
  EXPECT_GT(foreign.known_until(after + kHour), after + kHour - 1'000'000'000);
  say_all(foreign);
  EXPECT_EQ(foreign.known_until(after + kHour), after + kHour);
}

TEST_F(ForeignProcessesTest, WhatIsWrittenAtTheEndIsReadThen) {
  ForeignProcesses foreign(os::real(), pipeline, pipeline);
  const ProcessId process = start(10);
  foreign.add(process, NamesFrom::kAuto);
  say_all(foreign);
  write(process, 5000);
  foreign.look(end());
  say_all(foreign);
  EXPECT_EQ(foreign.functions(), 5010u);
  EXPECT_EQ(foreign.source_of(process), "") << "it is over";
}

// The kernel gives numbers again. What was read for the process before says nothing of this one.
TEST_F(ForeignProcessesTest, AnotherProcessOfTheSameNumberIsReadAnew) {
  ForeignProcesses foreign(os::real(), pipeline, pipeline);
  const ProcessId process = start(10);
  foreign.add(process, NamesFrom::kAuto);
  say_all(foreign);
  const ForeignProcesses::Moment moment{.follows_children = true,
                                        .is_sampled = [](ProcessId) { return true; }};
  foreign.look(moment);
  say_all(foreign);
  EXPECT_EQ(foreign.functions(), 10u) << "it is still the same";
  constexpr TimeNs kLater = kTimeMax / 4;
  script.forks(1, process.pid, kLater);
  script.sample(process.pid, process.pid, kLater + 1000, 0x1000);
  script.read();
  pipeline.flush(kLater + 2000);
  foreign.look(moment);
  EXPECT_EQ(foreign.source_of(process), "") << "nobody follows the one that is gone";
  foreign.look(moment);
  say_all(foreign);
  EXPECT_EQ(foreign.functions(), 20u);
}

TEST_F(ForeignProcessesTest, WhoIsGivenUpIsSaidToBeUnread) {
  ForeignLimits limits;
  limits.step = 0;
  ForeignProcesses foreign(os::real(), pipeline, pipeline, limits);
  const ProcessId process = start(20'000);
  foreign.add(process, NamesFrom::kAuto);
  while (foreign.functions() == 0) foreign.say();
  foreign.give_up();
  EXPECT_FALSE(foreign.is_pending());
  EXPECT_LT(foreign.functions(), 20'000u);
  pipeline.flush(1000);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 1u);
}

}  // namespace
}  // namespace tailor::session
