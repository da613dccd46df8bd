// An engine with two pipelines of generated code, of which it may forget to register the second. That one
// runs under the tag of the first one's operator, which its caller left in r15.
//
//   unregistered_code both|first|none|wrong_plan|unloaded MILLISECONDS
//
// wrong_plan: the second names a plan that was never loaded. unloaded: it is unloaded before it runs. The
// first runs for about a quarter of the time. The truth is printed as JSON, operator -> ns of the CPU clock.
#include <sys/mman.h>
#include <tailor/agent.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "tests/support/known_engine.h"

namespace {

constexpr std::uint64_t kPiece = 1'000'000;  // turns, some hundred microseconds
constexpr std::size_t kPage = 4096;

std::uint64_t cpu_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

// Code that counts rdi down, in the instruction `ir` of test::small_code().
struct Pipeline {
  void* memory = MAP_FAILED;
  std::string code = std::string(64, '\x90');
  std::uint64_t id = tailor_code_new();

  bool generate(std::size_t ir) {
    constexpr std::string_view kLoop = "\x48\xFF\xCF\x75\xFB\xC3";  // dec rdi; jnz; ret
    code.replace(16 + 8 * (ir - 1), kLoop.size(), kLoop);
    memory = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    std::memcpy(memory, code.data(), code.size());
    return ::mprotect(memory, kPage, PROT_READ | PROT_EXEC) == 0;
  }
  void load(std::uint64_t plan) const {
    auto object = tailor::test::small_code(id, plan, reinterpret_cast<std::uint64_t>(memory));
    object.set_code(code);
    const std::string bytes = object.SerializeAsString();
    tailor_code_load(id, bytes.data(), bytes.size());
  }
  // The CPU time that it took.
  std::uint64_t run(std::uint64_t turns, std::uint64_t tag) const {
    const std::uint64_t begin = cpu_ns();
    asm volatile(
        "mov %[tag], %%r15\n\t"
        "lea -128(%%rsp), %%rsp\n\t"  // leaves out what a leaf function keeps below
        "call *%[code]\n\t"
        "lea 128(%%rsp), %%rsp\n\t"
        "xor %%r15d, %%r15d"
        : "+D"(turns)
        : [tag] "r"(tag), [code] "r"(memory)
        : "r15", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
    return cpu_ns() - begin;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view how = argv[1];
  const std::uint64_t wanted = std::strtoull(argv[2], nullptr, 10) * 1'000'000;
  const tailor_plan_ids plan = tailor::test::start_known_engine("unregistered_code");
  Pipeline first, second;
  if (!first.generate(1) || !second.generate(3)) return 1;
  if (how != "none") first.load(plan.id);
  if (how == "both" || how == "unloaded") second.load(plan.id);
  if (how == "wrong_plan") second.load(plan.id + 1000);
  if (how == "unloaded") tailor_code_unload(second.id);
  const std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
  tailor_mark_execution_begin(execution, plan.id);
  const std::uint64_t tag = tailor_tag(&plan, 1, 1);
  std::array<std::uint64_t, 2> truth{};
  while (truth[0] + truth[1] < wanted) {
    truth[0] += first.run(kPiece, tag);
    truth[1] += second.run(3 * kPiece, tag);
  }
  tailor_mark_execution_end(execution);
  tailor_execution_end(execution, 0, nullptr);
  tailor_agent_stop(2000);
  std::printf("{\"Scan\": %llu, \"Join\": %llu}\n", static_cast<unsigned long long>(truth[0]),
              static_cast<unsigned long long>(truth[1]));
  return 0;
}
