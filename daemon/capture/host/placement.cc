#include "daemon/capture/host/placement.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

#include "daemon/os/host_files.h"

namespace tailor::capture {
namespace {

// A rearmed timer costs some 15 us more than none: 2000 switches a second are 3 % of a core.
constexpr double kManySwitches = 2000;
constexpr TimeNs kObservation = 20'000'000;
// Threads whose switches are counted, which stand for the others.
constexpr std::size_t kMostThreadsCounted = 64;

std::uint64_t number_after(std::string_view text, std::string_view label) {
  std::size_t at = text.find(label);
  if (at == std::string_view::npos) return 0;
  std::string_view rest = text.substr(at + label.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  std::uint64_t value = 0;
  std::from_chars(rest.data(), rest.data() + rest.size(), value);
  return value;
}

double switches_of(const os::Os& os, pid_t pid) {
  const auto threads = os::threads_of(os, pid);
  if (!threads || threads->empty()) return 0;
  const std::size_t counted = std::min(threads->size(), kMostThreadsCounted);
  std::uint64_t switches = 0;
  for (std::size_t i = 0; i < counted; ++i) {
    auto status =
        os::read_text(os.proc() / std::to_string(pid) / "task" / std::to_string((*threads)[i]) / "status");
    if (!status) continue;
    switches += number_after(*status, "\nvoluntary_ctxt_switches:") +
                number_after(*status, "\nnonvoluntary_ctxt_switches:");
  }
  return static_cast<double>(switches) * static_cast<double>(threads->size()) / static_cast<double>(counted);
}

constexpr TimeNs kBirthWindow = 100'000'000;
constexpr double kMostHidden = 0.05;  // of a CPU

}  // namespace

bool BirthWatch::too_many(TimeNs now, std::uint64_t births) {
  if (since_ == kTimeMin) {
    since_ = now;
    before_ = births;
  }
  const TimeNs passed = now - since_;
  if (passed < kBirthWindow) return false;
  const auto born = static_cast<double>(births - before_);
  per_second_ = born * 1e9 / static_cast<double>(passed);
  since_ = now;
  before_ = births;
  const bool many = born * static_cast<double>(period_) > kMostHidden * static_cast<double>(passed);
  return std::exchange(once_, many) && many;
}

PlacementChoice choose_placement(const TargetFacts& facts) {
  if (facts.events_needed > facts.descriptors / 2) {
    return {true, fmt::format("one event per CPU: one per thread would take {} of {} file descriptors",
                              facts.events_needed, facts.descriptors)};
  }
  return {};
}

std::string why_per_cpu(double switches_per_second) {
  if (switches_per_second <= kManySwitches) return {};
  return fmt::format("one event per CPU: {:.0f} context switches a second would each rearm a thread's timer",
                     switches_per_second);
}

SwitchWatch::SwitchWatch(os::Os& os, pid_t pid)
    : pid_(pid), since_(os.now()), before_(switches_of(os, pid)) {}

std::optional<double> SwitchWatch::look(os::Os& os) {
  const TimeNs now = os.now();
  if (now - since_ < kObservation) return std::nullopt;
  // A thread that ended in between takes its switches with it.
  return std::max(0.0, switches_of(os, pid_) - before_) * 1e9 / static_cast<double>(now - since_);
}

TargetFacts observe_target(const os::Os& os, pid_t pid, std::size_t cpus, std::size_t sources) {
  TargetFacts facts;
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  facts.descriptors = limit.rlim_cur;
  if (auto threads = os::threads_of(os, pid)) facts.events_needed = threads->size() * cpus * sources;
  return facts;
}

}  // namespace tailor::capture
