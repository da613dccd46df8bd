#include "daemon/query/sums/drawn_total.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "daemon/query/sums/interval.h"

namespace tailor::query {
namespace {

constexpr double kManyDegrees = 1e9;

}  // namespace

std::optional<DrawnTotal> drawn_total(std::span<const DrawnSum> parts) {
  DrawnTotal out;
  double variance = 0, sampled = 0;
  double uncertain = 0;  // of the variance: Satterthwaite's sum, for its degrees of freedom
  for (const DrawnSum& part : parts) {
    out.executions += part.executions;
    out.drawn += part.drawn;
    sampled += part.weight;
    if (part.drawn == part.executions) {
      out.weight += part.weight;
      variance += part.noise;
      continue;
    }
    if (part.drawn < 2) return std::nullopt;
    const auto all = static_cast<double>(part.executions), n = static_cast<double>(part.drawn);
    const double mean = part.weight / n;
    const double spread = std::max(0.0, part.squares - n * mean * mean) / (n - 1);
    out.weight += all * mean;
    // The spread has the noise of the samples of executions that are drawn in it, but for the share of them.
    const double between = all * all * (1 - n / all) * spread / n;
    variance += between + all / n * part.noise;
    uncertain += between * between / (n - 1);
  }
  if (out.drawn == out.executions) return std::nullopt;
  const double degrees = uncertain > 0 ? variance * variance / uncertain : kManyDegrees;
  const double error = student95(degrees) * std::sqrt(variance);
  out.low = std::max(sampled, out.weight - error);
  out.high = out.weight + error;
  return out;
}

DrawnSum drawn_sum(const Profile& profile, const Selection& selection, std::uint16_t source) {
  DrawnSum out;
  if (!profile.executions().has_not_drawn()) return out;
  std::map<InProcess<ExecutionHandle>, std::pair<double, double>> costs;  // weight, samples
  for (const auto& [key, cell] : profile.cells()) {
    if (key.source != source || key.execution == 0) continue;
    auto& [weight, samples] = costs[profile.led_by(key.process, key.execution)];
    weight += cell.weight;
    samples += static_cast<double>(cell.samples);
  }
  for (const profile::ExecutionRecord& execution : profile.executions()) {
    const InProcess<ExecutionHandle> own(execution.process, execution.handle);
    if (!selected(selection, own.first, own.second) || profile.led_by(own.first, own.second) != own) continue;
    const auto cost = costs.find(own);
    const auto [weight, samples] = cost == costs.end() ? std::pair(0.0, 0.0) : cost->second;
    out.add(execution.drawn, weight, samples);
  }
  return out;
}

}  // namespace tailor::query
