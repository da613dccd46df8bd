// Makes short-lived threads as fast as asked for, for a given time.
//
//   thread_churn PER_SECOND MILLISECONDS
//
// Prints a line per thread when all is over: its thread id and when it was made (CLOCK_MONOTONIC_RAW, ns).
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

namespace {

std::int64_t now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

void* live_briefly(void* tid) {
  *static_cast<int*>(tid) = gettid();
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::int64_t interval = 1'000'000'000 / std::atoll(argv[1]);
  std::int64_t start = now(), end = start + std::atoll(argv[2]) * 1'000'000;
  std::vector<std::pair<int, std::int64_t>> made;
  for (std::int64_t next = start; next < end; next += interval) {
    while (now() < next) {
    }
    std::int64_t at = now();
    int tid = 0;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, live_briefly, &tid) != 0) return 1;
    pthread_join(thread, nullptr);
    made.emplace_back(tid, at);
  }
  for (auto [tid, at] : made) std::printf("%d %lld\n", tid, static_cast<long long>(at));
  return 0;
}
