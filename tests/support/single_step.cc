#include "tests/support/single_step.h"

#include <signal.h>
#include <ucontext.h>

#include <cstdlib>

namespace tailor {
namespace {

constexpr std::uint64_t kTrapFlag = 0x100;

struct Recording {
  std::uint64_t begin, end;
  std::vector<Step> steps;  // of fixed capacity: the handler must not allocate
};
Recording* recording = nullptr;

void on_trap(int, siginfo_t*, void* context) {
  const auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto ip = static_cast<std::uint64_t>(registers[REG_RIP]);
  if (ip < recording->begin || ip >= recording->end) return;
  if (recording->steps.size() == recording->steps.capacity()) std::abort();
  recording->steps.push_back({ip, static_cast<std::uint64_t>(registers[REG_R15])});
}

// Below the red zone of the calling function.
void set_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n orq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::"i"(kTrapFlag)
      : "memory", "cc");
}
void clear_trap_flag() {
  asm volatile(
      "lea -128(%%rsp), %%rsp\n pushfq\n andq %0, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::"i"(~kTrapFlag)
      : "memory", "cc");
}

}  // namespace

std::vector<Step> single_step(std::uint64_t begin, std::uint64_t end, std::size_t capacity,
                              const std::function<void()>& body) {
  Recording here{begin, end, {}};
  here.steps.reserve(capacity);
  recording = &here;
  struct sigaction action = {}, before = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, &before);
  set_trap_flag();
  body();
  clear_trap_flag();
  sigaction(SIGTRAP, &before, nullptr);
  recording = nullptr;
  return std::move(here.steps);
}

}  // namespace tailor
