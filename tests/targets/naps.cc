// naps COUNT MICROSECONDS: sleeps that long that often, computing a little in between. Prints the nanoseconds
// it was asleep, as its own clock saw it.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

std::int64_t now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

// Not inlined, so that a call chain through it can be found.
__attribute__((noinline)) void nap(long microseconds) {
  timespec pause{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  nanosleep(&pause, nullptr);
}

volatile int sink;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  std::int64_t asleep = 0;
  for (int i = std::atoi(argv[1]); i > 0; --i) {
    std::int64_t before = now();
    nap(std::atol(argv[2]));
    asleep += now() - before;
    for (int k = 0; k < 100'000; ++k) sink = k;
  }
  std::printf("%lld\n", static_cast<long long>(asleep));
  return 0;
}
