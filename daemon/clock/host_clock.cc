#include "daemon/clock/host_clock.h"

#include "daemon/os/host_files.h"

namespace tailor::clock {
namespace {

constexpr int kTries = 16;
constexpr const char* kClocksource = "devices/system/clocksource/clocksource0/current_clocksource";

}  // namespace

Pair read_pair(os::Os& os, int tries) {
  Pair best;
  for (int i = 0; i < tries; ++i) {
    const os::ClockPair read = os.read_clocks();
    const Pair pair{.before = read.tsc_before, .after = read.tsc_after, .raw_ns = read.now};
    if (i == 0 || pair.after - pair.before < best.after - best.before) best = pair;
  }
  return best;
}

HostClock::HostClock(os::Os& os, std::string device) : os_(os), device_(std::move(device)) {}

bool HostClock::tsc_is_clocksource() const {
  const auto name = os::read_text(os_.sys() / kClocksource);
  return name && (*name == "tsc" || *name == "tsc-early");
}

std::optional<ModuleTime> HostClock::read_module() {
  if (!module_) {
    auto page = ModulePage::open(device_);
    if (!page) {
      module_denial_ = page.error().message;
      return std::nullopt;
    }
    module_.emplace(std::move(*page));
  }
  const auto time = module_->read();
  module_denial_ = time ? "" : device_ + ": the kernel does not keep its time by the TSC now";
  return time;
}

std::optional<PerfPageTime> HostClock::read_perf() {
  if (!perf_) {
    auto page = PerfPage::open(os_);
    if (!page) {
      perf_denial_ = page.error().message;
      return std::nullopt;
    }
    perf_.emplace(std::move(*page));
  }
  const auto time = perf_->read();
  perf_denial_ =
      time ? "" : "the perf page gives no TSC rate: sched_clock is not the TSC (cap_user_time_zero = 0)";
  return time;
}

Observation HostClock::observe() {
  Observation seen;
  seen.perf = read_perf();
  seen.tsc_is_clocksource = tsc_is_clocksource();
  // The pair comes first: a module page is then newer than the pair, never a rate ahead of it.
  seen.pair = read_pair(os_, kTries);
  seen.module = read_module();
  return seen;
}

}  // namespace tailor::clock
