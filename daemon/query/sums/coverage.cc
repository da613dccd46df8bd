#include "daemon/query/sums/coverage.h"

#include <cmath>

namespace tailor::query {
namespace {

constexpr double kLeastShare = 0.9;

}  // namespace

std::optional<Coverage> coverage_of(std::uint64_t used_ns, std::uint64_t sampled_ns, std::uint64_t period) {
  if (used_ns == 0) return std::nullopt;
  Coverage coverage;
  coverage.used_ns = static_cast<double>(used_ns);
  coverage.sampled_ns = static_cast<double>(sampled_ns);
  coverage.share = coverage.sampled_ns / coverage.used_ns;
  const double chance = 3 * std::sqrt(coverage.used_ns * static_cast<double>(period));
  coverage.falls_short = coverage.sampled_ns + chance < kLeastShare * coverage.used_ns;
  return coverage;
}

std::optional<Coverage> coverage_of(const profile::RecordingInfo& recording) {
  for (const profile::Source& source : recording.sources) {
    if (source.unit != profile::Unit::kNsOnCpu) continue;
    return coverage_of(recording.cpu_used_ns, recording.cpu_sampled_ns, source.period);
  }
  return std::nullopt;
}

}  // namespace tailor::query
