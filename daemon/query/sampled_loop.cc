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
constexpr double kLongGap = 2;          // times the longest of the short ones
constexpr double kEvenPace = 0.8;       // of the periods
constexpr std::size_t kNeighbours = 2;  // of a period, on either side
constexpr std::size_t kAlike = 16;      // counts that differ by a sixteenth are of one loop
constexpr double kEnoughVotes = 0.25;   // of the most
constexpr double kVoteOfPace = 8;       // exponent: one burst too few or too many, and the vote counts half

// A sample of an operator: when, and on the clock that gaps are measured by.
struct Moment {
  TimeNs time = 0;
  std::int64_t clock = 0;
};

struct Burst {
  Moment first, last;
  std::size_t samples = 0;
};

// The length from which on a gap lies between two bursts: above the widest step in the ordered lengths. 0:
// all gaps are alike. At most a third may be long, else there are no bursts but single samples.
struct LongGap {
  std::int64_t from = 0;
  double step = kLongGap;  // how many times the longest of the short ones
};
LongGap long_gap(const std::vector<Moment>& moments) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < moments.size(); ++i) gaps.push_back(moments[i].clock - moments[i - 1].clock);
  std::sort(gaps.begin(), gaps.end());
  LongGap found;
  for (std::size_t i = gaps.size() * 2 / 3; i + 1 < gaps.size(); ++i) {
    const double step =
        static_cast<double>(gaps[i + 1]) / static_cast<double>(std::max<std::int64_t>(1, gaps[i]));
    if (step >= found.step) found = {gaps[i + 1], step};
  }
  return found;
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

// A stray sample, one instruction off, is no burst.
void drop_strays(std::vector<Burst>& bursts) {
  std::vector<std::size_t> sizes;
  for (const Burst& burst : bursts) sizes.push_back(burst.samples);
  std::nth_element(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2), sizes.end());
  const std::size_t median = sizes[sizes.size() / 2];
  std::erase_if(bursts, [&](const Burst& burst) { return burst.samples * 3 < median; });
}

// The part of the periods that are near the median of their neighbours: a host that is slow for a while makes
// iterations longer, one after the other.
double evenness(const std::vector<Burst>& bursts) {
  std::vector<std::int64_t> periods;
  for (std::size_t i = 1; i < bursts.size(); ++i)
    periods.push_back(bursts[i].first.clock - bursts[i - 1].first.clock);
  std::size_t even = 0;
  for (std::size_t i = 0; i < periods.size(); ++i) {
    const std::size_t from = i < kNeighbours ? 0 : i - kNeighbours;
    const std::size_t to = std::min(periods.size(), i + kNeighbours + 1);
    std::vector<std::int64_t> near(periods.begin() + static_cast<std::ptrdiff_t>(from),
                                   periods.begin() + static_cast<std::ptrdiff_t>(to));
    std::sort(near.begin(), near.end());
    const std::int64_t median = near[near.size() / 2];
    if (periods[i] >= median / 2 && periods[i] <= median + median / 2) ++even;
  }
  return static_cast<double>(even) / static_cast<double>(periods.size());
}

// How an operator comes and goes.
struct Rhythm {
  std::vector<Burst> bursts;
  double step = 0;    // between the longest gap within bursts and the shortest between them
  double weight = 0;  // of its vote on how many bursts there are
};

// No bursts where the operator is at work all the time, or at no pace.
Rhythm rhythm_of(const std::vector<Moment>& moments) {
  if (moments.size() < kFewestSamples) return {};
  const LongGap gap = long_gap(moments);
  if (gap.from == 0) return {};
  Rhythm rhythm{split(moments, gap.from), gap.step, 0};
  drop_strays(rhythm.bursts);
  if (rhythm.bursts.size() < kFewestBursts) return {};
  const double even = evenness(rhythm.bursts);
  if (even < kEvenPace) return {};
  rhythm.weight = static_cast<double>(moments.size()) * std::pow(even, kVoteOfPace);
  return rhythm;
}

// How many iterations there are: counts next to each other are of one loop, and of those the clearest rhythm
// is right. 0: no operator has bursts.
std::size_t count_of(const std::vector<Rhythm>& rhythms) {
  auto near = [](std::size_t count, const Rhythm& other) {
    const std::size_t difference =
        std::max(count, other.bursts.size()) - std::min(count, other.bursts.size());
    return difference <= count / kAlike;
  };
  std::map<std::size_t, double> votes;
  for (const Rhythm& rhythm : rhythms) votes[rhythm.bursts.size()] = 0;
  double most = 0;
  for (auto& [count, weight] : votes) {
    for (const Rhythm& rhythm : rhythms) weight += near(count, rhythm) ? rhythm.weight : 0;
    most = std::max(most, weight);
  }
  std::size_t fastest = 0;
  for (const auto& [count, weight] : votes) {
    if (weight >= most * kEnoughVotes) fastest = count;
  }
  std::size_t clearest = 0;
  double step = 0;
  for (const Rhythm& rhythm : rhythms) {
    if (!near(fastest, rhythm) || rhythm.step <= step) continue;
    step = rhythm.step;
    clearest = rhythm.bursts.size();
  }
  return clearest;
}

// When the sample after `time` was taken, or `time`, where there is none.
TimeNs next_after(const std::vector<OwnedSample>& samples, TimeNs time) {
  const auto next = std::upper_bound(samples.begin(), samples.end(), time,
                                     [](TimeNs t, const OwnedSample& sample) { return t < sample.time; });
  return next == samples.end() ? time : next->time;
}

std::vector<TimeNs> ends_by(const std::vector<OwnedSample>& samples,
                            const std::map<ComponentId, std::vector<Moment>>& moments) {
  std::vector<Rhythm> rhythms;
  for (const auto& [owner, each] : moments) {
    Rhythm rhythm = rhythm_of(each);
    if (!rhythm.bursts.empty()) rhythms.push_back(std::move(rhythm));
  }
  const std::size_t count = count_of(rhythms);
  const std::vector<Burst>* latest = nullptr;
  for (const Rhythm& rhythm : rhythms) {
    if (rhythm.bursts.size() != count) continue;
    if (latest == nullptr || latest->front().last.time < rhythm.bursts.front().last.time)
      latest = &rhythm.bursts;
  }
  std::vector<TimeNs> ends;
  if (latest == nullptr) return ends;
  for (const Burst& burst : *latest) {
    const TimeNs next = next_after(samples, burst.last.time);
    ends.push_back(burst.last.time + (next - burst.last.time) / 2);
  }
  return ends;
}

}  // namespace

std::vector<TimeNs> iteration_ends(const std::vector<OwnedSample>& samples) {
  std::map<ComponentId, std::vector<Moment>> by_work, by_time;
  std::int64_t work = 0;
  for (const OwnedSample& sample : samples) {
    work += static_cast<std::int64_t>(sample.weight);
    if (sample.owner == kNoComponent) continue;
    by_work[sample.owner].push_back({sample.time, work});
    by_time[sample.owner].push_back({sample.time, sample.time});
  }
  const std::vector<TimeNs> ends = ends_by(samples, by_work);
  return ends.empty() ? ends_by(samples, by_time) : ends;
}

}  // namespace tailor::query
