// page_faults MILLISECONDS: prints "ready", waits for a line, then touches fresh memory for that long, some
// 40,000 pages a second.
#include <sys/mman.h>
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr std::size_t kPage = 4096, kPages = 64;

std::int64_t now() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  const std::int64_t end = now() + std::atol(argv[1]) * 1'000'000;
  while (now() < end) {
    void* memory = mmap(nullptr, kPage * kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * kPage] = 1;
    munmap(memory, kPage * kPages);
    timespec pause{0, 1'500'000};
    nanosleep(&pause, nullptr);
  }
  return 0;
}
