// fixed_work THREADS MILLIONS [IDLE]: every thread computes that many million rounds: always the same work;
// IDLE more sleep meanwhile.
#include <cstdint>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

namespace {

volatile std::uint64_t sink;

void work(long long rounds) {
  std::uint64_t x = 88172645463325252;
  for (long long i = 0; i < rounds; ++i) x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  sink = x;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  long long rounds = std::atoll(argv[2]) * 1'000'000;
  std::latch done(1);
  std::vector<std::jthread> idle, threads;
  for (int i = argc > 3 ? std::atoi(argv[3]) : 0; i > 0; --i) idle.emplace_back([&done] { done.wait(); });
  for (int i = std::atoi(argv[1]); i > 0; --i) threads.emplace_back(work, rounds);
  threads.clear();
  done.count_down();
  return 0;
}
