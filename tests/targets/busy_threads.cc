// Threads that compute for a given CPU time each, then the process ends.
//
//   busy_threads THREADS MILLISECONDS [wait]     with "wait": begins when a line arrives on standard input
//
// Prints a line per thread at the end: its thread id and the nanoseconds of CPU it used.
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

std::int64_t cpu_time() {
  timespec ts{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

volatile std::uint64_t sink;

void compute() {
  std::uint64_t x = 88172645463325252;
  for (int i = 0; i < 200'000; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  sink = x;
}

void work(std::int64_t nanoseconds) {
  static std::mutex printing;
  while (cpu_time() < nanoseconds) compute();
  std::lock_guard lock(printing);
  std::printf("%d %lld\n", gettid(), static_cast<long long>(cpu_time()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int threads = std::atoi(argv[1]);
  std::int64_t nanoseconds = std::atoll(argv[2]) * 1'000'000;
  if (argc > 3 && std::strcmp(argv[3], "wait") == 0) std::getchar();
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, nanoseconds);
  work(nanoseconds);
  for (auto& thread : others) thread.join();
  return 0;
}
