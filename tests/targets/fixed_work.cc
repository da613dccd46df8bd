// fixed_work THREADS MILLIONS: every thread computes that many million rounds: always the same work.
#include <cstdint>
#include <cstdlib>
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
  std::vector<std::jthread> threads;
  for (int i = std::atoi(argv[1]); i > 0; --i) threads.emplace_back(work, rounds);
  return 0;
}
