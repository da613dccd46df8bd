// Readers hammer the page while the timekeeper is made to update all the time: no read may be torn.
#include <sys/time.h>
#include <tailor/clock_page.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "tests/kernel/guest/check.h"

namespace tailor::guest {
namespace {

// Both lines as one read section gives them.
struct Lines {
  tailor_clock_line raw, mono;
};

Lines read_both(const tailor_clock_page* page, std::uint64_t& retries) {
  Lines lines;
  __u32 seq;
  for (;;) {
    seq = tailor_clock_read_begin(page);
    lines.raw = {TAILOR_CLOCK_LOAD(page->raw.cycle_last), TAILOR_CLOCK_LOAD(page->raw.base_ns),
                 TAILOR_CLOCK_LOAD(page->raw.remainder), TAILOR_CLOCK_LOAD(page->raw.mult),
                 TAILOR_CLOCK_LOAD(page->raw.shift)};
    lines.mono = {TAILOR_CLOCK_LOAD(page->mono.cycle_last), TAILOR_CLOCK_LOAD(page->mono.base_ns),
                  TAILOR_CLOCK_LOAD(page->mono.remainder), TAILOR_CLOCK_LOAD(page->mono.mult),
                  TAILOR_CLOCK_LOAD(page->mono.shift)};
    if (!(seq & 1) && !tailor_clock_read_retry(page, seq)) return lines;
    ++retries;
  }
}

// MONOTONIC_RAW never leaves its first line while the clocksource stays, and the kernel updates both lines at
// one cycle: a read that mixes two updates breaks one or the other.
bool torn(const Lines& lines, const tailor_clock_line& first) {
  const auto off = static_cast<std::int64_t>(tailor_clock_line_ns(&lines.raw, lines.raw.cycle_last) -
                                             tailor_clock_line_ns(&first, lines.raw.cycle_last));
  return lines.raw.cycle_last != lines.mono.cycle_last || off < -3 || off > 3;
}

}  // namespace

void check_torn_reads(unsigned long reads) {
  int error = 0;
  const tailor_clock_page* page = tailor_clock_map(TAILOR_CLOCK_DEVICE, &error);
  if (!check(page != nullptr, "map", "errno %d", error)) return;
  tailor_clock_line first;
  check(tailor_clock_read(page, TAILOR_CLOCK_RAW, &first), "torn reads", "page is valid at the start");
  const std::uint64_t updates = page->updates;
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> bad{0}, retried{0};
  std::thread writer([&] {
    while (!stop) {
      timeval now{};
      gettimeofday(&now, nullptr);
      settimeofday(&now, nullptr);
    }
  });
  std::vector<std::thread> readers;
  constexpr int kReaders = 2;
  for (int r = 0; r < kReaders; ++r) {
    readers.emplace_back([&] {
      std::uint64_t mine = 0, retries = 0;
      for (unsigned long i = 0; i < reads / kReaders; ++i) mine += torn(read_both(page, retries), first);
      bad += mine;
      retried += retries;
    });
  }
  for (std::thread& reader : readers) reader.join();
  stop = true;
  writer.join();
  check(bad == 0, "torn reads", "%lu of %lu reads, %lu retried, %llu updates", bad.load(), reads,
        retried.load(), page->updates - updates);
  check(page->updates - updates > 10'000, "torn reads", "enough updates to tear them");
  munmap(const_cast<tailor_clock_page*>(page), TAILOR_CLOCK_PAGE_BYTES);
}

}  // namespace tailor::guest
