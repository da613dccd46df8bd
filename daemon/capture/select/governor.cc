#include "daemon/capture/select/governor.h"

#include <algorithm>
#include <cmath>

#include "daemon/capture/select/event_spec.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kEnoughSamples = 50;
// Once in a million years of nanoseconds: beyond it a product could overflow.
constexpr double kGreatestPeriod = 1e18;

}  // namespace

OverheadGovernor::OverheadGovernor(const GovernorOptions& options)
    : options_(options),
      random_(options.seed),
      events_per_ns_(options.events_per_ns),
      period_(std::max<std::uint64_t>(options.least_period, 1)) {}

void OverheadGovernor::set_cost(double ns) {
  ns = std::max(ns, 0.0);
  cost_ns_ = cost_ns_ < 0 ? ns : (cost_ns_ + ns) / 2;
}

void OverheadGovernor::observe(std::uint64_t samples, std::uint64_t cpu_ns) {
  if (cpu_ns == 0) return;
  seen_.samples += samples;
  seen_.events += static_cast<double>(samples) * static_cast<double>(period_);
  seen_.cpu_ns += static_cast<double>(cpu_ns);
  if (seen_.samples < kEnoughSamples) return;
  events_per_ns_ = seen_.events / seen_.cpu_ns;
  seen_ = {};
}

std::uint64_t OverheadGovernor::draw() {
  const double needed = std::ceil(std::max(cost_ns_, 0.0) * events_per_ns_ / options_.max_overhead);
  const auto least = static_cast<std::uint64_t>(
      std::max(static_cast<double>(options_.least_period), std::min(needed, kGreatestPeriod)));
  // Not std::uniform_int_distribution: what it draws is not the same everywhere.
  const std::uint64_t drawn = least + random_() % (least / 10 + 1);
  if (options_.multiple_of_16) {
    period_ = (drawn + 15) / 16 * 16;
  } else {
    period_ = prime_at_most(drawn);
    if (period_ < least) period_ = prime_at_least(least);
  }
  return period_;
}

double OverheadGovernor::overhead() const {
  return std::max(cost_ns_, 0.0) * events_per_ns_ / static_cast<double>(period_);
}

}  // namespace tailor::capture
