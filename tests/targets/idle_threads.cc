// idle_threads COUNT: that many threads that sleep until standard input ends. Prints "ready" when all are
// there.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  int count = std::atoi(argv[1]);
  std::latch end(1), ready(count);
  std::vector<std::jthread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      ready.count_down();
      end.wait();
    });
  }
  ready.wait();
  std::puts("ready");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  end.count_down();
  return 0;
}
