#include "daemon/query/time/sampled_loop.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kFewestSamples = 9;  // of an operator
constexpr std::size_t kFewestBursts = 3;
constexpr std::size_t kSteps = 4;       // the widest
constexpr double kLongGap = 2;          // times the longest of the short ones
constexpr double kEvenPace = 0.8;       // of the periods
constexpr std::size_t kNeighbours = 2;  // of a period, on either side
constexpr std::size_t kAlike = 16;      // counts that differ by a sixteenth are of one loop
constexpr double kEnoughVotes = 0.25;   // of the most
constexpr double kStrays = 0.2;         // of an operator's samples
constexpr std::int64_t kLone = 8;       // times the typical gap, on both sides of a lone sample
constexpr double kVoteOfPace = 8;       // exponent: one burst too few or too many, and the vote counts half
constexpr double kMostChance = 1e-3;    // that samples in random order show a loop, over all that is tried
constexpr std::size_t kMostOdd = 32;    // gaps that a loop may have beside the even ones

// A sample of an operator: when, and what was sampled until then, by which gaps are measured.
struct Moment {
  TimeNs time = 0;
  std::int64_t clock = 0;
};

struct Burst {
  Moment first, last;
  std::size_t samples = 0;
};

std::int64_t typical_gap(const std::vector<Moment>& moments) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < moments.size(); ++i) gaps.push_back(moments[i].clock - moments[i - 1].clock);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

// Without samples that lie alone, far from the others of their operator. Code of one operator may stand
// within the loop of another one, and then some of its samples lie between its bursts, at any time. All of
// them, where too many lie alone: then they are no strays.
std::vector<Moment> without_lone(const std::vector<Moment>& moments) {
  if (moments.size() < kFewestSamples) return moments;
  const std::int64_t far = kLone * std::max<std::int64_t>(1, typical_gap(moments));
  std::vector<Moment> kept;
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const bool near_before = i > 0 && moments[i].clock - moments[i - 1].clock <= far;
    const bool near_behind = i + 1 < moments.size() && moments[i + 1].clock - moments[i].clock <= far;
    if (near_before || near_behind) kept.push_back(moments[i]);
  }
  const auto all = static_cast<double>(moments.size());
  return static_cast<double>(kept.size()) < (1 - kStrays) * all ? moments : kept;
}

// A length from which on a gap lies between two bursts: above a wide step in the ordered lengths. There may
// be several: between what an operator does in one iteration, between iterations, between every fifth. At
// most a third of the gaps may be long, else there are no bursts but single samples.
struct LongGap {
  std::int64_t from = 0;
  double step = 0;  // how many times the longest of the short ones
  std::int64_t longest_short = 0;
  std::vector<double> excess;  // of each long gap over that, ascending
};

// By how much each gap from `first` on is longer than the one before `first`.
std::vector<double> excess_from(const std::vector<std::int64_t>& gaps, std::size_t first) {
  std::vector<double> excess;
  for (std::size_t i = first; i < gaps.size(); ++i)
    excess.push_back(static_cast<double>(gaps[i] - gaps[first - 1]));
  return excess;
}

std::vector<LongGap> long_gaps(const std::vector<Moment>& moments) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < moments.size(); ++i) gaps.push_back(moments[i].clock - moments[i - 1].clock);
  std::sort(gaps.begin(), gaps.end());
  std::vector<LongGap> found;
  for (std::size_t i = gaps.size() * 2 / 3; i + 1 < gaps.size(); ++i) {
    const double step =
        static_cast<double>(gaps[i + 1]) / static_cast<double>(std::max<std::int64_t>(1, gaps[i]));
    if (step >= kLongGap) found.push_back({gaps[i + 1], step, gaps[i], {}});
  }
  std::sort(found.begin(), found.end(), [](const LongGap& a, const LongGap& b) { return a.step > b.step; });
  if (found.size() > kSteps) found.resize(kSteps);
  for (LongGap& each : found) {
    const auto first = std::lower_bound(gaps.begin(), gaps.end(), each.from);
    each.excess = excess_from(gaps, static_cast<std::size_t>(first - gaps.begin()));
  }
  return found;
}

// Of all ways to take `some` of `all`, as a logarithm.
double log_choices(std::size_t all, std::size_t some) {
  const auto factorial = [](std::size_t n) { return std::lgamma(static_cast<double>(n) + 1); };
  return factorial(all) - factorial(some) - factorial(all - some);
}

std::vector<Burst> split(const std::vector<Moment>& moments, std::int64_t gap) {
  std::vector<Burst> bursts;
  for (const Moment& moment : moments) {
    if (bursts.empty() || moment.clock - bursts.back().last.clock >= gap)
      bursts.push_back({moment, moment, 0});
    bursts.back().last = moment;
    ++bursts.back().samples;
  }
  return bursts;
}

std::int64_t period(const Burst& burst, const Burst& next) {
  return next.first.clock - burst.first.clock;
}

// Of the periods around the one that begins with this burst.
std::int64_t typical_period(const std::vector<Burst>& bursts, std::size_t at) {
  const std::size_t from = at < kNeighbours ? 0 : at - kNeighbours;
  const std::size_t to = std::min(bursts.size() - 1, at + kNeighbours + 1);
  std::vector<std::int64_t> around;
  for (std::size_t i = from; i < to; ++i) around.push_back(period(bursts[i], bursts[i + 1]));
  const auto middle = around.begin() + static_cast<std::ptrdiff_t>(around.size() / 2);
  std::nth_element(around.begin(), middle, around.end());
  return *middle;
}

std::size_t typical_samples(const std::vector<Burst>& bursts) {
  std::vector<std::size_t> sizes;
  for (const Burst& burst : bursts) sizes.push_back(burst.samples);
  const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
  std::nth_element(sizes.begin(), middle, sizes.end());
  return *middle;
}

// A stray sample, one instruction off, is no burst. A burst of few samples is one where the pace of the
// others has it: an operator that has ten samples in an iteration has three at times.
std::vector<Burst> without_strays(const std::vector<Burst>& bursts) {
  const std::size_t typical = typical_samples(bursts);
  std::vector<Burst> sure, few, kept;
  for (const Burst& burst : bursts) (burst.samples * 3 < typical ? few : sure).push_back(burst);
  if (sure.size() < kFewestBursts) return sure;
  auto next = few.begin();
  for (std::size_t i = 0; i + 1 < sure.size(); ++i) {
    kept.push_back(sure[i]);
    const std::int64_t half = typical_period(sure, i) / 2;
    const bool is_gap = period(sure[i], sure[i + 1]) > 3 * half;
    for (; next != few.end() && next->first.clock < sure[i + 1].first.clock; ++next) {
      const bool at_pace = next->first.clock > sure[i].first.clock && period(kept.back(), *next) >= half &&
                           period(*next, sure[i + 1]) >= half;
      if (is_gap && at_pace) kept.push_back(*next);
    }
  }
  kept.push_back(sure.back());
  return kept;
}

// The part of the periods that are near the median of their neighbours: a host that is slow for a while makes
// iterations longer, one after the other.
double evenness(const std::vector<Burst>& bursts) {
  std::size_t even = 0;
  for (std::size_t i = 0; i + 1 < bursts.size(); ++i) {
    const std::int64_t length = period(bursts[i], bursts[i + 1]), typical = typical_period(bursts, i);
    if (length >= typical / 2 && length <= typical + typical / 2) ++even;
  }
  return static_cast<double>(even) / static_cast<double>(bursts.size() - 1);
}

// How an operator comes and goes.
struct Rhythm {
  ComponentId owner = kNoComponent;
  std::vector<Burst> bursts;
  double even = 0;    // part of its periods
  double step = 0;    // between the longest gap within bursts and the shortest between them
  double weight = 0;  // of its vote on how many bursts there are
  double chance = 1;  // that chance alone makes it that even
};

// By how much each period is longer than a burst and the longest short gap, ascending. Where gaps are even,
// and bursts of any length, these are not.
std::vector<double> excess_of_periods(const std::vector<Burst>& bursts, std::int64_t longest_short) {
  std::vector<std::int64_t> lengths;
  for (const Burst& burst : bursts) lengths.push_back(burst.last.clock - burst.first.clock);
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  std::vector<double> excess;
  for (std::size_t i = 1; i < bursts.size(); ++i) {
    const std::int64_t beyond = period(bursts[i - 1], bursts[i]) - longest_short - *middle;
    excess.push_back(static_cast<double>(std::max<std::int64_t>(0, beyond)));
  }
  std::sort(excess.begin(), excess.end());
  return excess;
}

// Of gaps and of periods that even.
double chance_of(const LongGap& gap, const std::vector<Burst>& bursts, double resolution) {
  return std::max(chance_of_gaps(gap.excess, resolution),
                  chance_of_gaps(excess_of_periods(bursts, gap.longest_short), resolution));
}

// None where the operator is at work all the time, or at no pace. `resolution`: of the clock.
std::vector<Rhythm> rhythms_of(ComponentId owner, const std::vector<Moment>& moments, double resolution) {
  std::vector<Rhythm> found;
  if (moments.size() < kFewestSamples) return found;
  for (const LongGap& gap : long_gaps(moments)) {
    Rhythm rhythm{owner, split(moments, gap.from), 0, gap.step, 0};
    rhythm.chance = chance_of(gap, rhythm.bursts, resolution);
    rhythm.bursts = without_strays(rhythm.bursts);
    if (rhythm.bursts.size() < kFewestBursts) continue;
    rhythm.even = evenness(rhythm.bursts);
    if (rhythm.even < kEvenPace) continue;
    rhythm.weight = static_cast<double>(moments.size()) * std::pow(rhythm.even, kVoteOfPace);
    found.push_back(std::move(rhythm));
  }
  return found;
}

bool near(std::size_t count, const Rhythm& other) {
  const std::size_t difference = std::max(count, other.bursts.size()) - std::min(count, other.bursts.size());
  return difference <= count / kAlike;
}

// The rhythm of the loop: counts next to each other are of one loop, and of those the most even rhythm is
// right, because two bursts taken for one are not; and of several the one with the clearest gaps. NULL: no
// operator has bursts.
const Rhythm* rhythm_of_loop(const std::vector<Rhythm>& rhythms) {
  std::map<std::size_t, double> votes;
  double most = 0;
  for (const Rhythm& candidate : rhythms) {
    const std::size_t count = candidate.bursts.size();
    std::map<ComponentId, double> each;  // an operator votes once
    for (const Rhythm& rhythm : rhythms) {
      if (near(count, rhythm)) each[rhythm.owner] = std::max(each[rhythm.owner], rhythm.weight);
    }
    double& weight = votes[count] = 0;
    for (const auto& [owner, vote] : each) weight += vote;
    most = std::max(most, weight);
  }
  std::size_t fastest = 0;
  for (const auto& [count, weight] : votes) {
    if (weight >= most * kEnoughVotes) fastest = count;
  }
  const Rhythm* best = nullptr;
  for (const Rhythm& rhythm : rhythms) {
    if (!near(fastest, rhythm)) continue;
    if (best == nullptr || std::tie(rhythm.even, rhythm.step) > std::tie(best->even, best->step))
      best = &rhythm;
  }
  return best;
}

// When the sample after `time` was taken, or `time`, where there is none.
TimeNs next_after(const std::vector<OwnedSample>& samples, TimeNs time) {
  const auto next = std::upper_bound(samples.begin(), samples.end(), time,
                                     [](TimeNs t, const OwnedSample& sample) { return t < sample.time; });
  return next == samples.end() ? time : next->time;
}

// Whether the samples of an operator come between the bursts of the loop's rhythm, and behind the last burst
// rather than in front of the first: then it ends an iteration rather than begins one.
bool follows(const std::vector<Moment>& moments, const std::vector<Burst>& bursts) {
  std::size_t in_front = 0, behind = 0, within = 0, burst = 0;
  for (const Moment& moment : moments) {
    while (burst < bursts.size() && bursts[burst].last.time < moment.time) ++burst;
    if (burst == bursts.size())
      ++behind;
    else if (moment.time >= bursts[burst].first.time)
      ++within;
    else if (burst == 0)
      ++in_front;
  }
  const bool begins = 2 * in_front * bursts.size() >= moments.size();  // half of what it has in an iteration
  return behind > in_front && !begins &&
         static_cast<double>(within) <= kStrays * static_cast<double>(moments.size());
}

std::map<ComponentId, std::vector<Moment>> moments_by_owner(const std::vector<OwnedSample>& samples) {
  std::map<ComponentId, std::vector<Moment>> moments;
  std::int64_t work = 0;
  for (const OwnedSample& sample : samples) {
    work += static_cast<std::int64_t>(sample.weight);
    if (sample.owner != kNoComponent) moments[sample.owner].push_back({sample.time, work});
  }
  return moments;
}

double mean_weight(const std::vector<OwnedSample>& samples) {
  double sum = 0;
  for (const OwnedSample& sample : samples) sum += static_cast<double>(sample.weight);
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

// The rhythms of all operators that are beyond chance.
std::vector<Rhythm> sure_rhythms(const std::map<ComponentId, std::vector<Moment>>& moments,
                                 double resolution) {
  std::vector<Rhythm> rhythms;
  double tried = 0;
  for (const auto& [owner, each] : moments) {
    std::vector<std::vector<Moment>> ways = {each};
    if (std::vector<Moment> kept = without_lone(each); kept.size() < each.size())
      ways.push_back(std::move(kept));
    for (const std::vector<Moment>& way : ways) {
      if (way.size() >= kFewestSamples) tried += kSteps;
      for (Rhythm& rhythm : rhythms_of(owner, way, resolution)) rhythms.push_back(std::move(rhythm));
    }
  }
  std::erase_if(rhythms, [&](const Rhythm& rhythm) { return rhythm.chance * tried > kMostChance; });
  return rhythms;
}

}  // namespace

double chance_of_gaps(const std::vector<double>& excess, double resolution) {
  const std::size_t gaps = excess.size(), most_odd = std::min(kMostOdd, gaps / 3);
  const auto tried = static_cast<double>((most_odd + 1) * (most_odd + 2)) / 2;
  double total = std::accumulate(excess.begin(), excess.end(), 0.0);
  double least = 0;  // a logarithm
  for (std::size_t longest = 0; longest <= most_odd; ++longest) {
    if (longest > 0) total -= excess[gaps - longest];
    if (total <= 0) break;
    const std::size_t rest = gaps - longest;
    for (std::size_t shortest = 0; shortest + longest <= most_odd && rest > 1; ++shortest) {
      const double length = std::max(0.0, excess[shortest] - resolution) / total;
      const double free = std::max(0.0, 1 - static_cast<double>(rest - shortest) * length);
      const double chance = log_choices(gaps, longest) + log_choices(rest, shortest) +
                            static_cast<double>(rest - 1) * std::log(free);
      least = std::min(least, chance + std::log(tried));
    }
  }
  return std::exp(least);
}

std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples) {
  const std::map<ComponentId, std::vector<Moment>> moments = moments_by_owner(samples);
  const std::vector<Rhythm> rhythms = sure_rhythms(moments, mean_weight(samples));
  const Rhythm* loop = rhythm_of_loop(rhythms);
  if (loop == nullptr) return {};
  const std::vector<Burst>& bursts = loop->bursts;
  std::vector<TimeNs> last;  // of the loop's operator and those that follow it, by iteration
  for (const Burst& burst : bursts) last.push_back(burst.last.time);
  for (const auto& [owner, all] : moments) {
    if (owner == loop->owner) continue;
    const std::vector<Moment> each = without_lone(all);
    if (!follows(each, bursts)) continue;
    for (const Moment& moment : each) {
      const auto next = std::upper_bound(bursts.begin(), bursts.end(), moment.time,
                                         [](TimeNs t, const Burst& burst) { return t < burst.first.time; });
      if (next == bursts.begin()) continue;
      TimeNs& end = last[static_cast<std::size_t>(next - bursts.begin() - 1)];
      end = std::max(end, moment.time);
    }
  }
  std::vector<TimeNs> ends;
  for (TimeNs time : last) {
    const TimeNs next = next_after(samples, time);
    ends.push_back(time + (next - time) / 2);
  }
  return ends;
}

}  // namespace tailor::query
