// An engine of a known shape, for tests that need the truth: it generates machine code with two loops of
// equal cost a turn, runs the first N and the second 3 N times in every execution, and then spends as many
// turns as both together in code that is not generated, under a tag of task 3 (owned by operator 2).
//
//   known_shares THREADS EXECUTIONS MILLIONS_OF_TURNS
//
// So task 1 (operator 1) bears 1/8 of the time, task 2 (operator 2) 3/8, task 3 (operator 2) 4/8. Every
// execution has its own thread-log marks; with several threads each runs its executions of the same code at
// once.
#include <sys/mman.h>
#include <tailor/agent.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/engine_messages.h"

namespace {

// mov rax, rdi; 1: dec rax; jnz 1b; mov rax, rsi; 2: dec rax; jnz 2b; ret
constexpr std::array<std::uint8_t, 17> kCode = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0x48,
                                                0x89, 0xf0, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
using Generated = void (*)(std::uint64_t first, std::uint64_t second);

struct Query {
  tailor_plan_ids plan;
  Generated run;
  std::uint64_t tag;
};

Query compile() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  std::memcpy(memory, kCode.data(), kCode.size());
  Query query{tailor_plan_new(), reinterpret_cast<Generated>(memory), 0};
  tailor::v1::Plan plan = tailor::test::small_plan(query.plan.id, query.plan.slot, query.plan.generation);
  std::string bytes = plan.SerializeAsString();
  tailor_plan_load(query.plan.id, bytes.data(), bytes.size());
  const std::uint64_t id = tailor_code_new();
  // Instruction 1 belongs to task 1, 3 to task 2; what is said of task 2 is said to be inferred.
  tailor::v1::CodeObject code =
      tailor::test::small_code(id, query.plan.id, reinterpret_cast<std::uint64_t>(memory), kCode.size(),
                               {{0, 1 << 1}, {8, 3 << 1, tailor::v1::ROW_INFERRED}});
  code.set_code(std::string(kCode.begin(), kCode.end()));
  bytes = code.SerializeAsString();
  tailor_code_load(id, bytes.data(), bytes.size());
  query.tag = tailor_tag(&query.plan, 2, 3);
  return query;
}

// Shared code: the tag in r15 names on whose behalf it runs.
[[gnu::noinline]] void shared_loop(std::uint64_t turns, std::uint64_t tag) {
  asm volatile(
      "mov %[tag], %%r15\n\t"
      "1: dec %[turns]\n\t"
      "jnz 1b\n\t"
      "xor %%r15d, %%r15d"
      : [turns] "+r"(turns)
      : [tag] "r"(tag)
      : "r15", "cc");
}

void work(const Query& query, int executions, std::uint64_t turns) {
  for (int i = 0; i < executions; ++i) {
    const std::uint64_t execution = tailor_execution_begin(query.plan.id, nullptr, 0);
    tailor_mark_execution_begin(execution, query.plan.id);
    tailor_mark_pipeline_begin(1);
    query.run(turns, 3 * turns);
    shared_loop(4 * turns, query.tag);
    tailor_mark_pipeline_end(1);
    tailor_mark_execution_end(execution);
    tailor_execution_end(execution, 0, nullptr);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = "known_shares";
  options.tag_strategy = TAILOR_TAGS_R15;
  tailor_agent_start(&options);
  tailor_agent_barrier(2000);
  const Query query = compile();
  std::vector<std::thread> threads;
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    threads.emplace_back(
        [&] { work(query, std::atoi(argv[2]), std::strtoull(argv[3], nullptr, 10) * 1'000'000); });
  }
  for (std::thread& thread : threads) thread.join();
  tailor_agent_stop(2000);
  return 0;
}
