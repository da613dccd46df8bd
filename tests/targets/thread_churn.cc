// Makes short-lived threads as fast as asked for, for a given time. How long each works and how long after
// it the next is made is drawn anew every time: a loop of 200 us keeps step with a timer of 500 us, which
// then sees two moments of it only.
//
//   thread_churn PER_SECOND MILLISECONDS [MOST_MICROSECONDS_OF_WORK]
//
// Prints a line per thread when all is over: its thread id and when it was made (CLOCK_MONOTONIC_RAW, ns).
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

namespace {

std::int64_t now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

struct Life {
  int tid = 0;
  std::int64_t work = 0;  // ns
};

void* live_briefly(void* life) {
  Life& mine = *static_cast<Life*>(life);
  mine.tid = gettid();
  const std::int64_t end = now() + mine.work;
  while (now() < end) {
  }
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::int64_t interval = 1'000'000'000 / std::atoll(argv[1]);
  std::int64_t start = now(), end = start + std::atoll(argv[2]) * 1'000'000;
  const std::int64_t most = argc > 3 ? std::atoll(argv[3]) * 1000 : 0;
  std::minstd_rand random(1);
  std::vector<std::pair<int, std::int64_t>> made;
  for (std::int64_t next = start; next < end; next += interval / 2 + random() % interval) {
    while (now() < next) {
    }
    std::int64_t at = now();
    Life life;
    if (most > 0) life.work = static_cast<std::int64_t>(random()) % most;
    pthread_t thread;
    if (pthread_create(&thread, nullptr, live_briefly, &life) != 0) return 1;
    pthread_join(thread, nullptr);
    made.emplace_back(life.tid, at);
  }
  for (auto [tid, at] : made) std::printf("%d %lld\n", tid, static_cast<long long>(at));
  return 0;
}
