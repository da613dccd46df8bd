#include "daemon/query/sampled_loop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kFewestSamples = 9;  // of an operator
constexpr std::size_t kFewestBursts = 3;
constexpr double kLongGap = 2;     // times the longest of the short ones
constexpr double kEvenPace = 0.8;  // of the periods
constexpr double kVoteOfPace = 8;  // exponent: one burst too few or too many, and the vote counts half

struct Burst {
  TimeNs first = 0, last = 0;
  std::size_t samples = 0;
};

// The length from which on a gap lies between two bursts: above the widest step in the ordered lengths. 0:
// all gaps are alike. At most a third may be long, else there are no bursts but single samples.
TimeNs long_gap(const std::vector<TimeNs>& times) {
  std::vector<TimeNs> gaps;
  for (std::size_t i = 1; i < times.size(); ++i) gaps.push_back(times[i] - times[i - 1]);
  std::sort(gaps.begin(), gaps.end());
  TimeNs found = 0;
  double widest = kLongGap;
  for (std::size_t i = gaps.size() * 2 / 3; i + 1 < gaps.size(); ++i) {
    const double step = static_cast<double>(gaps[i + 1]) / static_cast<double>(std::max<TimeNs>(1, gaps[i]));
    if (step < widest) continue;
    widest = step;
    found = gaps[i + 1];
  }
  return found;
}

std::vector<Burst> split(const std::vector<TimeNs>& times, TimeNs gap) {
  std::vector<Burst> bursts;
  for (TimeNs time : times) {
    if (bursts.empty() || time - bursts.back().last >= gap) bursts.push_back({time, time, 0});
    bursts.back().last = time;
    ++bursts.back().samples;
  }
  return bursts;
}

// A stray sample, one instruction off, is no burst.
void drop_strays(std::vector<Burst>& bursts) {
  std::vector<std::size_t> sizes;
  for (const Burst& burst : bursts) sizes.push_back(burst.samples);
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
  const std::size_t median = sizes[sizes.size() / 2];
  std::erase_if(bursts, [&](const Burst& burst) { return burst.samples * 3 < median; });
}

// The part of the periods that are near the median.
double evenness(const std::vector<Burst>& bursts) {
  std::vector<TimeNs> periods;
  for (std::size_t i = 1; i < bursts.size(); ++i) periods.push_back(bursts[i].first - bursts[i - 1].first);
  std::sort(periods.begin(), periods.end());
  const TimeNs median = periods[periods.size() / 2];
  const auto even = std::count_if(periods.begin(), periods.end(), [&](TimeNs period) {
    return period >= median / 2 && period <= median + median / 2;
  });
  return static_cast<double>(even) / static_cast<double>(periods.size());
}

// Empty where the operator is at work all the time, or at no pace.
std::vector<Burst> bursts_of(const std::vector<TimeNs>& times) {
  if (times.size() < kFewestSamples) return {};
  const TimeNs gap = long_gap(times);
  if (gap == 0) return {};
  std::vector<Burst> bursts = split(times, gap);
  drop_strays(bursts);
  if (bursts.size() < kFewestBursts || evenness(bursts) < kEvenPace) return {};
  return bursts;
}

// When the sample after `time` was taken, or `time`, where there is none.
TimeNs next_after(const std::vector<OwnedSample>& samples, TimeNs time) {
  const auto next = std::upper_bound(samples.begin(), samples.end(), time,
                                     [](TimeNs t, const OwnedSample& sample) { return t < sample.time; });
  return next == samples.end() ? time : next->time;
}

}  // namespace

std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples) {
  std::map<ComponentId, std::vector<TimeNs>> times;
  for (const OwnedSample& sample : samples) {
    if (sample.owner != kNoComponent) times[sample.owner].push_back(sample.time);
  }
  std::map<std::size_t, std::pair<double, std::vector<Burst>>> by_count;  // votes, bursts of the last
  for (const auto& [owner, each] : times) {
    std::vector<Burst> bursts = bursts_of(each);
    if (bursts.empty()) continue;
    auto& [weight, latest] = by_count[bursts.size()];
    weight += static_cast<double>(each.size()) * std::pow(evenness(bursts), kVoteOfPace);
    if (latest.empty() || latest.front().last < bursts.front().last) latest = std::move(bursts);
  }
  const auto most = std::max_element(by_count.begin(), by_count.end(), [](const auto& a, const auto& b) {
    return a.second.first < b.second.first;
  });
  std::vector<TimeNs> ends;
  if (most == by_count.end()) return ends;
  for (const Burst& burst : most->second.second) {
    const TimeNs next = next_after(samples, burst.last);
    ends.push_back(burst.last + (next - burst.last) / 2);
  }
  return ends;
}

}  // namespace tailor::query
