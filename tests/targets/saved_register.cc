// An engine that calls a library which needs the tag register for itself: the library puts it aside, works,
// and gives it back. N turns under the tag of task 1 (operator 1), 3 N under that of task 3 (operator 2). The
// words kSecret lie on its stack: they must not be found in anything that is stored.
//
//   saved_register EXECUTIONS MILLIONS_OF_TURNS
#include <tailor/agent.h>

#include <cstdint>
#include <cstdlib>

#include "tests/support/known_engine.h"

// The library, as compilers would write it: it saves the register and says where (DWARF).
asm(R"(
  .text
  .type library_work, @function
library_work:
  .cfi_startproc
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  mov %rdi, %r15
1:
  dec %r15
  jnz 1b
  pop %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  ret
  .cfi_endproc
  .size library_work, . - library_work
)");
extern "C" void library_work(std::uint64_t turns);

namespace {

[[gnu::noinline]] void call_under_tag(std::uint64_t turns, std::uint64_t tag) {
  char secret[] = "SECRET-ON-THE-STACK-OF-THE-ENGINE";
  // Below the stack pointer the compiler may keep things of its own.
  asm volatile(
      "mov %[tag], %%r15\n\t"
      "sub $128, %%rsp\n\t"
      "call *%[library]\n\t"
      "add $128, %%rsp\n\t"
      "xor %%r15d, %%r15d"
      : "+D"(turns)
      : [tag] "r"(tag), [library] "r"(&library_work), "a"(secret)
      : "r15", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const tailor_plan_ids plan = tailor::test::start_known_engine("saved_register");
  const std::uint64_t turns = std::strtoull(argv[2], nullptr, 10) * 1'000'000;
  for (int i = 0; i < std::atoi(argv[1]); ++i) {
    const std::uint64_t execution = tailor_execution_begin(plan.id, nullptr, 0);
    tailor_mark_execution_begin(execution, plan.id);
    call_under_tag(turns, tailor_tag(&plan, 1, 1));
    call_under_tag(3 * turns, tailor_tag(&plan, 2, 3));
    tailor_mark_execution_end(execution);
    tailor_execution_end(execution, 0, nullptr);
  }
  tailor_agent_stop(2000);
  return 0;
}
