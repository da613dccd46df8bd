// An engine that waits, for tests that need the truth about time off the CPU. Each kind of wait happens COUNT
// times in code that is not generated, under a tag: of task 1 (operator 1) futexes and page faults, of task 3
// (operator 2) sleeps, pipes, storage and the queue for a CPU. Prints "name nanoseconds" for each, by its own
// clock, or "name -1" where the host does not permit or has no such wait. FILE is written and left behind.
// With "slot" the tags are in the thread's memory slot, else in r15.
//
//   known_waits COUNT MICROSECONDS FILE [slot]
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <tailor/agent.h>
#include <tailor/tag_scope.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/support/known_engine.h"

namespace {

constexpr std::size_t kPage = 4096;

std::int64_t now(clockid_t clock = CLOCK_MONOTONIC_RAW) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

timespec span_of(long microseconds) {
  return {microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
}

bool tags_in_memory = false;

// Calls work(tag for r15) under the tag, wherever it is kept.
template <typename Work>
auto under(std::uint64_t tag, Work work) {
  if (!tags_in_memory) return work(tag);
  tailor::TagScope scope(TAILOR_TAGS_MEMORY_SLOT, tag);
  return work(std::uint64_t{0});
}

// A system call with the tag in r15.
long call_with_r15(std::uint64_t tag, long number, long a, long b, long c, long d) {
  long result;
  asm volatile(
      "mov %[tag], %%r15\n\t"
      "mov %[d], %%r10\n\t"
      "syscall\n\t"
      "xor %%r15d, %%r15d"
      : "=a"(result)
      : "a"(number), "D"(a), "S"(b), "d"(c), [d] "r"(d), [tag] "r"(tag)
      : "r15", "r10", "rcx", "r11", "memory", "cc");
  return result;
}

long call_under_tag(std::uint64_t tag, long number, long a, long b = 0, long c = 0, long d = 0) {
  return under(tag, [&](std::uint64_t r15) { return call_with_r15(r15, number, a, b, c, d); });
}

void touch_under_tag(std::uint64_t tag, void* page) {
  under(tag, [&](std::uint64_t r15) {
    asm volatile(
        "mov %[tag], %%r15\n\tmovb $1, (%[page])\n\txor %%r15d, %%r15d" ::[tag] "r"(r15), [page] "r"(page)
        : "r15", "memory", "cc");
  });
}

void spin_under_tag(std::uint64_t tag, std::uint64_t rounds) {
  under(tag, [&](std::uint64_t r15) {
    asm volatile("mov %[tag], %%r15\n1:\tdec %[rounds]\n\tjnz 1b\n\txor %%r15d, %%r15d"
                 : [rounds] "+r"(rounds)
                 : [tag] "r"(r15)
                 : "r15", "cc");
  });
}

// Waits on a word that nobody changes, until its timeout.
void futex_waits(std::uint64_t tag, int count, long microseconds) {
  std::uint32_t word = 0;
  const timespec timeout = span_of(microseconds);
  for (int i = 0; i < count; ++i) {
    call_under_tag(tag, SYS_futex, reinterpret_cast<long>(&word), FUTEX_WAIT_PRIVATE, 0,
                   reinterpret_cast<long>(&timeout));
  }
}

void sleeps(std::uint64_t tag, int count, long microseconds) {
  const timespec pause = span_of(microseconds);
  for (int i = 0; i < count; ++i) call_under_tag(tag, SYS_nanosleep, reinterpret_cast<long>(&pause));
}

// Another thread writes a byte every now and then.
void pipe_reads(std::uint64_t tag, int count, long microseconds) {
  int ends[2];
  if (::pipe(ends) != 0) std::exit(1);
  std::thread writer([&] {
    for (int i = 0; i < count; ++i) {
      ::usleep(static_cast<useconds_t>(microseconds));
      if (::write(ends[1], "x", 1) != 1) std::exit(1);
    }
  });
  char byte;
  for (int i = 0; i < count; ++i) call_under_tag(tag, SYS_read, ends[0], reinterpret_cast<long>(&byte), 1);
  writer.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

// Another thread gives each new page a while after it was touched. False where that is not permitted.
bool page_faults(std::uint64_t tag, int count, long microseconds) {
  const int fd = static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC));
  if (fd < 0) return false;
  uffdio_api api{};
  api.api = UFFD_API;
  const std::size_t bytes = kPage * static_cast<std::size_t>(count);
  auto* pages =
      static_cast<char*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  uffdio_register what{};
  what.range = {reinterpret_cast<std::uint64_t>(pages), bytes};
  what.mode = UFFDIO_REGISTER_MODE_MISSING;
  if (::ioctl(fd, UFFDIO_API, &api) != 0 || ::ioctl(fd, UFFDIO_REGISTER, &what) != 0) return false;
  std::thread giver([&] {
    for (int i = 0; i < count; ++i) {
      uffd_msg message{};
      if (::read(fd, &message, sizeof message) != sizeof message) std::exit(1);
      ::usleep(static_cast<useconds_t>(microseconds));
      uffdio_zeropage page{};
      page.range = {message.arg.pagefault.address & ~(kPage - 1), kPage};
      if (::ioctl(fd, UFFDIO_ZEROPAGE, &page) != 0) std::exit(1);
    }
  });
  for (int i = 0; i < count; ++i) touch_under_tag(tag, pages + static_cast<std::size_t>(i) * kPage);
  giver.join();
  ::close(fd);
  return true;
}

// Pages are written and waited for; returns how long the thread did not run. -1 where the file system has
// nothing to wait for (in memory).
std::int64_t file_syncs(std::uint64_t tag, int count, const char* path) {
  constexpr std::int64_t kLeastOfAWait = 20'000;
  const int fd = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return -1;
  const std::vector<char> page(kPage, 'x');
  std::int64_t waited = 0;
  for (int i = 0; i < count; ++i) {
    if (::pwrite(fd, page.data(), kPage, static_cast<off_t>(kPage) * i) != static_cast<ssize_t>(kPage))
      return -1;
    const std::int64_t wall = now(), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    call_under_tag(tag, SYS_fsync, fd);
    waited += now() - wall - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);
  }
  ::close(fd);
  return waited < count * kLeastOfAWait ? -1 : waited;
}

// Two threads on one CPU; returns how long this one was ready but did not run.
std::int64_t queue(std::uint64_t tag, std::int64_t nanoseconds) {
  cpu_set_t before, one;
  sched_getaffinity(0, sizeof before, &before);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &before)) continue;
    CPU_SET(cpu, &one);
    break;
  }
  sched_setaffinity(0, sizeof one, &one);
  std::atomic<bool> over = false;
  std::thread other([&] {
    while (!over) {
    }
  });
  const std::int64_t wall = now(), cpu = now(CLOCK_THREAD_CPUTIME_ID);
  while (now() - wall < nanoseconds) spin_under_tag(tag, 100'000);
  const std::int64_t waited = now() - wall - (now(CLOCK_THREAD_CPUTIME_ID) - cpu);
  over = true;
  sched_setaffinity(0, sizeof before, &before);
  other.join();
  return waited;
}

void print(const char* name, std::int64_t ns) {
  std::printf("%s %lld\n", name, static_cast<long long>(ns));
}

template <typename Waits>
void timed(const char* name, Waits waits) {
  const std::int64_t before = now();
  waits();
  print(name, now() - before);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  tags_in_memory = argc > 4 && std::string_view(argv[4]) == "slot";
  const int count = std::atoi(argv[1]);
  const long microseconds = std::atol(argv[2]);
  const tailor_plan_ids plan = tailor::test::start_known_engine(
      "known_waits", tags_in_memory ? TAILOR_TAGS_MEMORY_SLOT : TAILOR_TAGS_R15);
  const std::uint64_t first = tailor_tag(&plan, 1, 1), second = tailor_tag(&plan, 2, 3);
  timed("lock", [&] { futex_waits(first, count, microseconds); });
  timed("sleep", [&] { sleeps(second, count, microseconds); });
  timed("peer", [&] { pipe_reads(second, count, microseconds); });
  const std::int64_t before = now();
  print("page_fault", page_faults(first, count, microseconds) ? now() - before : -1);
  print("io", file_syncs(second, count, argv[3]));
  print("run_queue", queue(second, 100'000'000));
  std::fflush(stdout);
  tailor_agent_stop(2000);
  return 0;
}
