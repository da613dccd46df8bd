#include "daemon/formats/busy_counters.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tailor::formats {
namespace {

constexpr std::size_t kMostOwners = 12;  // of a process
constexpr double kMostSlices = 1000, kSamplesInASlice = 10;

using Slices = std::map<std::uint32_t, double>;  // nanoseconds of CPU by number

struct Cost {
  Slices slices;
  double weight = 0;
};

struct Axis {
  double from = 0, width = 1;
};

std::optional<std::uint16_t> time_source(const Trace& trace) {
  for (std::size_t i = 0; i < trace.sources.size(); ++i) {
    if (!trace.sources[i].off_cpu && trace.sources[i].unit == "nanoseconds")
      return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

// No sample stands for time before the clock began.
double length_of(const TraceSample& sample) {
  return std::min(static_cast<double>(sample.weight), static_cast<double>(std::max<TimeNs>(sample.time, 0)));
}

Axis axis_of(const Trace& trace, std::uint16_t source) {
  double from = 0, to = 0, weight = 0, samples = 0;
  for (const TraceSample& sample : trace.samples) {
    if (sample.source != source) continue;
    const auto end = static_cast<double>(sample.time), length = length_of(sample);
    from = samples == 0 ? end - length : std::min(from, end - length);
    to = samples == 0 ? end : std::max(to, end);
    weight += length;
    ++samples;
  }
  if (samples == 0) return {};
  return {from, std::max({kSamplesInASlice * weight / samples, (to - from) / kMostSlices, 1.0})};
}

// Evenly over the time that the sample stands for.
void spread(const TraceSample& sample, const Axis& axis, Cost& to) {
  const auto end = static_cast<double>(sample.time) - axis.from, length = length_of(sample);
  to.weight += length;
  double at = end - length;
  while (at < end) {
    const auto slice = static_cast<std::uint32_t>(at / axis.width);
    const double until = std::min(end, (slice + 1) * axis.width);
    if (until <= at) break;  // no number lies between
    to.slices[slice] += until - at;
    at = until;
  }
}

BusyCounter counter_of(std::int32_t pid, std::string name, const Slices& slices, const Axis& axis) {
  BusyCounter out{pid, std::move(name), {}};
  const auto begin_of = [&](std::uint32_t slice) {
    return static_cast<TimeNs>(axis.from + axis.width * slice);
  };
  std::uint32_t next = 0;
  for (const auto& [slice, weight] : slices) {
    if (slice != next && !out.values.empty()) out.values.push_back({begin_of(next), 0});
    const double cpus = weight / axis.width;
    if (out.values.empty() || out.values.back().cpus != cpus) out.values.push_back({begin_of(slice), cpus});
    next = slice + 1;
  }
  out.values.push_back({begin_of(next), 0});
  return out;
}

}  // namespace

std::vector<BusyCounter> busy_counters(const Trace& trace) {
  const auto source = time_source(trace);
  if (!source) return {};
  const Axis axis = axis_of(trace, *source);
  std::map<std::int32_t, Cost> whole;
  std::map<std::int32_t, std::map<std::uint32_t, Cost>> parts;  // by the number of their labels
  for (const TraceSample& sample : trace.samples) {
    if (sample.source != *source || sample.weight == 0) continue;
    const std::int32_t pid = trace.threads[sample.thread].pid;
    spread(sample, axis, whole[pid]);
    spread(sample, axis, parts[pid][sample.labels]);
  }
  std::vector<BusyCounter> out;
  for (const auto& [pid, all] : whole) {
    out.push_back(counter_of(pid, "CPUs busy", all.slices, axis));
    std::map<std::string, Cost> owners;
    const auto add = [&](const std::string& owner, const Cost& cost) {
      Cost& to = owners[owner];
      to.weight += cost.weight;
      for (const auto& [slice, weight] : cost.slices) to.slices[slice] += weight;
    };
    for (const auto& [labels, cost] : parts[pid]) add(trace.owners[labels], cost);
    std::vector<std::pair<double, std::string>> order;
    for (const auto& [owner, cost] : owners) order.emplace_back(-cost.weight, owner);
    std::ranges::sort(order);
    Cost others;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const Cost& cost = owners.at(order[i].second);
      if (i < kMostOwners) {
        out.push_back(counter_of(pid, "CPUs: " + order[i].second, cost.slices, axis));
      } else {
        for (const auto& [slice, weight] : cost.slices) others.slices[slice] += weight;
      }
    }
    if (!others.slices.empty()) out.push_back(counter_of(pid, "CPUs: all others", others.slices, axis));
  }
  return out;
}

}  // namespace tailor::formats
