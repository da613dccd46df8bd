// An engine whose time is spent in the kernel, for tests that need the truth about kernel-mode samples: code
// that is not generated reads from /dev/zero and touches new pages, N times under the tag of task 1 (operator
// 1) and 3 N times under the tag of task 3 (operator 2). Only the tag says on whose behalf: in r15, or in the
// thread's memory slot.
//
//   kernel_shares EXECUTIONS READS [untagged|slot|futex|unmarked]
//
// futex: instead of each read, futex(FUTEX_WAKE) a thousand times where nobody waits. unmarked: no execution
// is said to run.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tailor/agent.h>
#include <tailor/tag_scope.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "tests/support/known_engine.h"

namespace {

constexpr std::size_t kBytes = 256 << 10;

// `reads` times read(fd, buffer, kBytes) with the tag in r15; the kernel gives up the buffer's pages before
// each.
void read_under_tag(int fd, void* buffer, std::uint64_t reads, std::uint64_t tag) {
  asm volatile(
      "mov %[tag], %%r15\n"
      "1: mov %[madvise], %%eax\n\t"
      "mov %[buffer], %%rdi\n\t"
      "mov %[bytes], %%rsi\n\t"
      "mov %[dontneed], %%edx\n\t"
      "syscall\n\t"
      "mov %[read], %%eax\n\t"
      "mov %k[fd], %%edi\n\t"
      "mov %[buffer], %%rsi\n\t"
      "mov %[bytes], %%rdx\n\t"
      "syscall\n\t"
      "dec %[reads]\n\t"
      "jnz 1b\n\t"
      "xor %%r15d, %%r15d"
      : [reads] "+r"(reads)
      : [tag] "r"(tag), [fd] "r"(fd), [buffer] "r"(buffer), [bytes] "r"(kBytes), [madvise] "i"(SYS_madvise),
        [dontneed] "i"(MADV_DONTNEED), [read] "i"(SYS_read)
      : "r15", "rax", "rdi", "rsi", "rdx", "rcx", "r11", "memory", "cc");
}

// `turns` times a thousand calls that wake nobody.
void wake_under_tag(int, void* word, std::uint64_t turns, std::uint64_t tag) {
  std::uint64_t calls = turns * 1000;
  asm volatile(
      "mov %[tag], %%r15\n"
      "1: mov %[futex], %%eax\n\t"
      "mov %[word], %%rdi\n\t"
      "mov %[wake], %%esi\n\t"
      "mov $1, %%edx\n\t"
      "syscall\n\t"
      "dec %[calls]\n\t"
      "jnz 1b\n\t"
      "xor %%r15d, %%r15d"
      : [calls] "+r"(calls)
      : [tag] "r"(tag), [word] "r"(word), [futex] "i"(SYS_futex), [wake] "i"(FUTEX_WAKE)
      : "r15", "rax", "rdi", "rsi", "rdx", "rcx", "r11", "memory", "cc");
}

// As read_under_tag(), with the tag in the thread's memory slot.
void read_under_slot(int fd, void* buffer, std::uint64_t reads, std::uint64_t tag) {
  tailor::TagScope scope(TAILOR_TAGS_MEMORY_SLOT, tag);
  read_under_tag(fd, buffer, reads, 0);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view how = argc > 3 ? argv[3] : "";
  const bool tagged = how != "untagged", marked = how != "unmarked";
  const auto work = how == "slot" ? read_under_slot : how == "futex" ? wake_under_tag : read_under_tag;
  const int executions = std::atoi(argv[1]);
  const std::uint64_t reads = std::strtoull(argv[2], nullptr, 10);
  const tailor_plan_ids plan = tailor::test::start_known_engine(
      "kernel_shares", how == "slot" ? TAILOR_TAGS_MEMORY_SLOT : TAILOR_TAGS_R15);
  const int zero = ::open("/dev/zero", O_RDONLY);
  void* buffer = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (zero < 0 || buffer == MAP_FAILED) return 1;
  for (int i = 0; i < executions; ++i) {
    const std::uint64_t execution = marked ? tailor_execution_begin(plan.id, nullptr, 0) : 0;
    if (marked) tailor_mark_execution_begin(execution, plan.id);
    work(zero, buffer, reads, tagged ? tailor_tag(&plan, 1, 1) : 0);
    work(zero, buffer, 3 * reads, tagged ? tailor_tag(&plan, 2, 3) : 0);
    if (!marked) continue;
    tailor_mark_execution_end(execution);
    tailor_execution_end(execution, 0, nullptr);
  }
  tailor_agent_stop(2000);
  return 0;
}
