// The page against clock_gettime, on every CPU: error and flag together.
#include <sched.h>
#include <tailor/clock_page.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "tests/kernel/guest/check.h"

namespace tailor::guest {
namespace {

std::uint64_t tsc() {
  _mm_lfence();
  const std::uint64_t t = __rdtsc();
  _mm_lfence();
  return t;
}

std::uint64_t clock_ns(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

void run_on(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

// A line of the page before a read of the kernel's clock and after it. The page may be updated in between, and the task
// may lose its CPU for long before it sees the new line: then the two lines differ, and each holds on its side only.
struct Around {
  tailor_clock_line before{}, after{};

  std::int64_t low(std::uint64_t tsc) const { return std::min(at(before, tsc), at(after, tsc)); }
  std::int64_t high(std::uint64_t tsc) const { return std::max(at(before, tsc), at(after, tsc)); }
  static std::int64_t at(const tailor_clock_line& line, std::uint64_t tsc) {
    return static_cast<std::int64_t>(tailor_clock_line_ns(&line, tsc));
  }
};

struct Tally {
  std::uint64_t valid = 0, invalid = 0;
  std::int64_t worst_ns = 0;            // outside the bracket of two TSC reads
  std::int64_t bracket_ns = INT64_MAX;  // the narrowest

  void take(const tailor_clock_page* page, tailor_clock_id id, clockid_t clock) {
    Around lines;
    const bool valid_before = tailor_clock_read(page, id, &lines.before) != 0;
    const std::uint64_t before = tsc();
    const std::uint64_t kernel = clock_ns(clock);
    const std::uint64_t after = tsc();
    if (!tailor_clock_read(page, id, &lines.after) || !valid_before) {
      ++invalid;
      return;
    }
    ++valid;
    const std::int64_t low = lines.low(before), high = lines.high(after);
    const auto at = static_cast<std::int64_t>(kernel);
    bracket_ns = std::min(bracket_ns, high - low);
    worst_ns = std::max({worst_ns, low - at, at - high});
  }
};

void judge(const char* name, const Tally& tally, const AccuracyPlan& plan) {
  constexpr std::int64_t kLimitNs = 100;
  check(tally.worst_ns <= kLimitNs, name, "worst error %ld ns beyond a bracket of at least %ld ns",
        tally.worst_ns, tally.valid ? tally.bracket_ns : -1);
  if (plan.expect_valid) {
    check(tally.valid > 1000 && tally.invalid * 1000 <= tally.valid, name, "%lu valid, %lu not", tally.valid,
          tally.invalid);
  } else {
    check(tally.valid == 0 && tally.invalid > 0, name, "none valid of %lu", tally.valid + tally.invalid);
  }
}

}  // namespace

void check_accuracy(const AccuracyPlan& plan) {
  int error = 0;
  const tailor_clock_page* page = tailor_clock_map(TAILOR_CLOCK_DEVICE, &error);
  if (!check(page != nullptr, "map", "errno %d", error)) return;
  const int cpus = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  const std::uint64_t end = clock_ns(CLOCK_MONOTONIC) + static_cast<std::uint64_t>(plan.seconds * 1e9);
  const std::uint64_t changes = page->changes;
  Tally raw, mono;
  for (int round = 0; clock_ns(CLOCK_MONOTONIC) < end; ++round) {
    run_on(round % cpus);
    for (int i = 0; i < 200; ++i) {
      raw.take(page, TAILOR_CLOCK_RAW, CLOCK_MONOTONIC_RAW);
      mono.take(page, TAILOR_CLOCK_MONO, CLOCK_MONOTONIC);
    }
    usleep(500);
  }
  judge("accuracy of MONOTONIC_RAW", raw, plan);
  judge("accuracy of MONOTONIC", mono, plan);
  check(page->failures == 0, "self-check", "%llu failures, uncertainty %llu ns", page->failures,
        page->uncertainty_ns);
  if (plan.expect_rate_change) {
    // A slow host loads the module after the kernel has refined its rate: the host then tries again.
    const auto crossed = page->changes - changes;
    std::printf("%s recalibration: %llu changes of the rate were crossed\n", crossed ? "ok" : "missed",
                crossed);
  }
  munmap(const_cast<tailor_clock_page*>(page), TAILOR_CLOCK_PAGE_BYTES);
}

// The clocksource goes away and comes back under an open mapping.
void check_clocksource_switch() {
  const std::string folder = "/sys/devices/system/clocksource/clocksource0/";
  std::string other;
  for (const char* name : {"hpet", "acpi_pm", "jiffies"}) {
    if (write_line(folder + "current_clocksource", name) &&
        first_line(folder + "current_clocksource") == name) {
      other = name;
      break;
    }
  }
  if (!check(!other.empty(), "clocksource switch", "to %s", other.c_str())) return;
  usleep(100'000);
  check_accuracy({.seconds = 0.5, .expect_valid = false});
  check(first_line("/sys/class/misc/tailor_clock/clocksource") == other, "clocksource attribute", "%s",
        other.c_str());
  write_line(folder + "current_clocksource", "tsc");
  usleep(100'000);
  check(first_line(folder + "current_clocksource") == "tsc", "clocksource switch", "back to tsc");
  check_accuracy({.seconds = 0.5});
}

}  // namespace tailor::guest
