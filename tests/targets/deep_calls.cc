// Works for SECONDS of CPU time a few calls below main(), on its main thread and on another one:
// deep_calls SECONDS. It needs nothing that throws: how its stacks can be followed is up to how it is built.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

volatile unsigned long g_sink;

double used() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

extern "C" {

// Keeps what it adds up in the frame pointer's register, where a compiler may put anything.
[[gnu::noinline]] void innermost(unsigned long rounds) {
  unsigned long sum = 1;
  for (unsigned long i = 0; i < rounds; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

[[gnu::noinline]] void go_down(unsigned calls, unsigned long rounds) {
  if (calls > 0) {
    go_down(calls - 1, rounds);
  } else {
    innermost(rounds);
  }
  g_sink = g_sink + 1;  // no tail call
}

[[gnu::noinline]] void* work(void* seconds) {
  const double end = used() + *static_cast<const double*>(seconds);
  while (used() < end) go_down(6, 20'000);
  return nullptr;
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  double seconds = std::atof(argv[1]);
  pthread_t other{};
  if (::pthread_create(&other, nullptr, work, &seconds) != 0) return 1;
  work(&seconds);
  ::pthread_join(other, nullptr);
  return 0;
}
