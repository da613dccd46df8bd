// A program with a rhythm: in every cycle it runs one loop for a while, then another one for the rest, by the
// clock.
//
//   rhythm CYCLE_US BUSY_US CPU_MS THREADS [LIFE_US]
//
// With LIFE_US the work of each of the THREADS is done by threads that use so much CPU time and end, one
// after the other.
//
// Prints the addresses of both loops and of their end, waits for a line, and prints the CPU time that each
// loop used, in ns, as the kernel tells it at each change, and that of the process from the line on.
#include <sys/mman.h>
#include <time.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

// Twice, 16 bytes apart: mov rax, rdi; 1: dec rax; jnz 1b; ret
constexpr std::size_t kApart = 16;
constexpr std::array<std::uint8_t, 9> kLoop = {0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3};
using Loop = void (*)(std::uint64_t turns);
using Loops = std::array<Loop, 2>;

std::uint64_t read_clock(clockid_t clock) {
  timespec ts{};
  clock_gettime(clock, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

Loops compile() {
  void* memory = mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::exit(1);
  auto* bytes = static_cast<std::uint8_t*>(memory);
  std::memcpy(bytes, kLoop.data(), kLoop.size());
  std::memcpy(bytes + kApart, kLoop.data(), kLoop.size());
  return {reinterpret_cast<Loop>(bytes), reinterpret_cast<Loop>(bytes + kApart)};
}

std::array<std::atomic<std::uint64_t>, 2> used;

void work(const Loops& loops, std::uint64_t cycle, std::uint64_t busy, std::uint64_t cpu) {
  std::uint64_t since = read_clock(CLOCK_THREAD_CPUTIME_ID);
  const std::uint64_t end = since + cpu;
  std::size_t now = read_clock(CLOCK_MONOTONIC) % cycle < busy ? 0 : 1;
  while (since < end) {
    loops[now](2000);
    const std::size_t next = read_clock(CLOCK_MONOTONIC) % cycle < busy ? 0 : 1;
    if (next == now) continue;
    const std::uint64_t time = read_clock(CLOCK_THREAD_CPUTIME_ID);
    used[now] += time - since;
    since = time;
    now = next;
  }
}

// By threads that live for `life`, 0: by this one.
void work_in_lives(const Loops& loops, std::uint64_t cycle, std::uint64_t busy, std::uint64_t cpu,
                   std::uint64_t life) {
  if (life == 0) return work(loops, cycle, busy, cpu);
  for (std::uint64_t done = 0; done < cpu; done += life) {
    std::thread([&] { work(loops, cycle, busy, life); }).join();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) return 2;
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  const Loops loops = compile();
  const auto first = reinterpret_cast<std::uintptr_t>(loops[0]);
  std::printf("%zu %zu %zu\n", first, first + kApart, first + kApart + kLoop.size());
  std::fflush(stdout);
  std::getchar();
  const std::uint64_t before = read_clock(CLOCK_PROCESS_CPUTIME_ID);
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < number(4); ++i) {
    threads.emplace_back([&] {
      const std::uint64_t life = argc == 6 ? number(5) * 1000 : 0;
      work_in_lives(loops, number(1) * 1000, number(2) * 1000, number(3) * 1'000'000, life);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%llu %llu %llu\n", static_cast<unsigned long long>(used[0].load()),
              static_cast<unsigned long long>(used[1].load()),
              static_cast<unsigned long long>(read_clock(CLOCK_PROCESS_CPUTIME_ID) - before));
  return 0;
}
