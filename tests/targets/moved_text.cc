// Moves the pages of its hot functions to memory of no file, at their own addresses, as programs do that want
// huge pages for their text. Then it says "ready" and works for SECONDS of CPU time, two thirds of them in
// first_in_pages(): moved_text remap|map SECONDS.
//
// remap: a copy is moved there by mremap. map: memory is mapped there, and executable at once.
#include <sys/mman.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>

// In the order in which they stand here.
#define MOVED [[gnu::noinline, gnu::used, gnu::no_reorder, gnu::section("hotpages"), gnu::aligned(4096)]]

// The linker names them.
extern "C" char __start_hotpages[], __stop_hotpages[];

namespace {

constexpr std::size_t kPage = 4096;
volatile unsigned long g_sink;

double used() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

extern "C" {

MOVED void first_in_pages() {
  unsigned long sum = 1;
  for (int i = 0; i < 400'000; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

MOVED void second_in_pages() {
  unsigned long sum = 2;
  for (int i = 0; i < 200'000; ++i) {
    sum = sum * 2862933555777941757UL + 3037000493UL;
    __asm__ volatile("" : "+r"(sum));
  }
  g_sink = sum;
}

// Its last page stays, so the file is still mapped right behind what is moved.
MOVED void behind_in_pages() {
  __asm__ volatile(".skip 8192, 0x90");
}

[[gnu::noinline]] void work(double seconds) {
  const double end = used() + seconds;
  while (used() < end) {
    first_in_pages();
    second_in_pages();
  }
  g_sink = 0;  // no tail call
}

}  // extern "C"

namespace {

bool move_pages(bool remaps) {
  const auto begin = reinterpret_cast<std::uintptr_t>(__start_hotpages);
  const std::uintptr_t end = reinterpret_cast<std::uintptr_t>(__stop_hotpages) & ~std::uintptr_t{kPage - 1};
  const std::size_t size = end - begin;
  auto* there = reinterpret_cast<void*>(begin);
  void* copy = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) return false;
  std::memcpy(copy, there, size);
  if (remaps) {
    if (::mprotect(copy, size, PROT_READ | PROT_EXEC) != 0) return false;
    return ::mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, there) != MAP_FAILED;
  }
  constexpr int kAll = PROT_READ | PROT_WRITE | PROT_EXEC;
  if (::mmap(there, size, kAll, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) return false;
  std::memcpy(there, copy, size);
  return ::mprotect(there, size, PROT_READ | PROT_EXEC) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  if (!move_pages(std::string_view(argv[1]) == "remap")) {
    std::perror("moved_text");
    return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  work(std::atof(argv[2]));
  g_sink = 1;  // no tail call
  return 0;
}
