// Its main thread ends at once by pthread_exit, and two others work on until the process has used SECONDS of
// CPU time: leader_exit SECONDS.
#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace {

volatile unsigned long g_sink;
double g_seconds;

double used() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

extern "C" {

[[gnu::noinline]] void innermost_of_worker(unsigned long rounds) {
  unsigned long sum = 1;
  for (unsigned long i = 0; i < rounds; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

// The one of both that notices first ends the process.
[[gnu::noinline]] void* worker(void*) {
  while (used() < g_seconds) innermost_of_worker(100'000);
  ::_exit(0);
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  g_seconds = std::atof(argv[1]);
  for (int i = 0; i < 2; ++i) {
    pthread_t thread{};
    if (::pthread_create(&thread, nullptr, worker, nullptr) != 0) return 1;
  }
  ::pthread_exit(nullptr);
}
