// Two sessions of one engine run executions of the same plan and the same generated code at the same time,
// one pair after the other. Session 0 computes four times as long as session 1, which then waits.
//
//   two_sessions PAIRS MILLISECONDS [swapped]
//
// Prints a line of JSON per execution: its id, its session, the CPU time that its thread used. With "swapped"
// each thread marks the execution of the other: the deliberately wrong twin.
#include <sys/mman.h>
#include <tailor/agent.h>

#include <array>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <thread>

#include "tests/support/engine_messages.h"

namespace {

constexpr int kSessions = 2;
constexpr std::uint64_t kTurns = 100'000;  // some tens of microseconds
// mov rax, rdi; 1: dec rax; jnz 1b; ret
constexpr std::array<std::uint8_t, 9> kCode = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
using Generated = void (*)(std::uint64_t turns);

struct Query {
  tailor_plan_ids plan;
  Generated run;
};

std::int64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

Query compile() {
  void* memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  std::memcpy(memory, kCode.data(), kCode.size());
  Query query{tailor_plan_new(), reinterpret_cast<Generated>(memory)};
  std::string bytes =
      tailor::test::small_plan(query.plan.id, query.plan.slot, query.plan.generation).SerializeAsString();
  tailor_plan_load(query.plan.id, bytes.data(), bytes.size());
  const std::uint64_t id = tailor_code_new();
  tailor::v1::CodeObject code = tailor::test::small_code(
      id, query.plan.id, reinterpret_cast<std::uint64_t>(memory), kCode.size(), {{0, 1 << 1}});
  code.set_code(std::string(kCode.begin(), kCode.end()));
  bytes = code.SerializeAsString();
  tailor_code_load(id, bytes.data(), bytes.size());
  return query;
}

std::string hexadecimal(std::uint64_t execution) {
  std::array<std::uint8_t, 16> id{};
  tailor_execution_id(execution, id.data());
  std::string text;
  for (std::uint8_t byte : id) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

struct Pairs {
  const Query& query;
  int count;
  std::int64_t cpu_of_first;
  bool swapped;
  std::barrier<> together{kSessions};
  std::array<std::uint64_t, kSessions> executions{};

  void run(int session) {
    for (int i = 0; i < count; ++i) {
      executions[session] = tailor_execution_begin(query.plan.id, nullptr, 0);
      together.arrive_and_wait();
      const std::uint64_t own = executions[session];
      const std::uint64_t marked = executions[swapped ? 1 - session : session];
      const std::int64_t begin = cpu_ns();
      tailor_mark_execution_begin(marked, query.plan.id);
      tailor_mark_pipeline_begin(1);
      const std::int64_t end = begin + (session == 0 ? cpu_of_first : cpu_of_first / 4);
      while (cpu_ns() < end) query.run(kTurns);
      tailor_mark_pipeline_end(1);
      tailor_mark_execution_end(marked);
      const std::int64_t used = cpu_ns() - begin;
      together.arrive_and_wait();
      tailor_execution_end(own, 0, nullptr);
      std::printf("{\"id\": \"%s\", \"session\": %d, \"cpu_ns\": %lld}\n", hexadecimal(own).c_str(), session,
                  static_cast<long long>(used));
    }
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "two_sessions";
  tailor_agent_start(&options);
  tailor_agent_barrier(2000);
  const Query query = compile();
  Pairs pairs{query, std::atoi(argv[1]), std::atoll(argv[2]) * 1'000'000,
              argc > 3 && std::strcmp(argv[3], "swapped") == 0};
  std::thread other([&] { pairs.run(1); });
  pairs.run(0);
  other.join();
  tailor_agent_stop(2000);
  return 0;
}
