#include "daemon/query/time/workers_lane.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

#include "daemon/query/sums/own_agent.h"
#include "daemon/query/time/worked_time.h"

namespace tailor::query {
namespace {

// Times of a file may be any numbers: within these, differences fit.
constexpr TimeNs kFarthest = TimeNs{1} << 61;

TimeNs within_reach(TimeNs time) {
  return std::clamp(time, -kFarthest, kFarthest);
}

// The time that is shown, in equal parts.
class Parts {
 public:
  Parts(TimeNs from, TimeNs to, std::uint32_t count)
      : from_(within_reach(from)),
        to_(within_reach(to)),
        part_ns_(static_cast<double>(to_ - from_) / count),
        sums_(count, 0.0),
        changes_(count, 0.0) {}

  // False: nothing of it is in the time. A span that fills many parts takes no longer than one that fills
  // few.
  bool add(TimeNs begin, TimeNs end) {
    begin = std::max(begin, from_);
    end = std::min(end, to_);
    if (begin >= end) return false;
    const double first = static_cast<double>(begin - from_) / part_ns_;
    const double last = static_cast<double>(end - from_) / part_ns_;
    const std::size_t one = part_of(first), other = part_of(last);
    if (one == other) {
      sums_[one] += last - first;
      return true;
    }
    sums_[one] += static_cast<double>(one + 1) - first;
    sums_[other] += last - static_cast<double>(other);
    changes_[one + 1] += 1;
    changes_[other] -= 1;
    return true;
  }
  std::vector<double> take() {
    double whole = 0;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      whole += changes_[i];
      sums_[i] += whole;
    }
    return std::move(sums_);
  }

 private:
  // The end of the time is in the last one.
  std::size_t part_of(double place) const {
    return std::min(static_cast<std::size_t>(place), sums_.size() - 1);
  }

  TimeNs from_, to_;
  double part_ns_;
  std::vector<double> sums_;     // of spans that begin or end in the part
  std::vector<double> changes_;  // from the part before: how many spans fill it
};

// Spans of threads, of which no two of one thread overlap.
class ThreadSpans {
 public:
  void add(const TimedSample& sample) {
    const auto [known, added] =
        threads_.try_emplace({sample.key->process, sample.tid}, static_cast<std::uint64_t>(threads_.size()));
    const TimeNs end = within_reach(sample.time);
    const auto length = static_cast<TimeNs>(std::min(sample.weight, static_cast<std::uint64_t>(kFarthest)));
    spans_.push_back({end - length, end, known->second});
  }

  // Whether its thread has a span.
  bool knows(const TimedSample& sample) const { return threads_.contains({sample.key->process, sample.tid}); }

  // How many threads have time in there.
  std::uint64_t divide(Parts& parts) {
    std::ranges::sort(spans_, [](const WorkSpan& a, const WorkSpan& b) {
      if (a.thread != b.thread) return a.thread < b.thread;
      return a.end != b.end ? a.end < b.end : a.begin < b.begin;
    });
    std::uint64_t threads = 0, counted = UINT64_MAX;
    for (std::size_t i = 0; i < spans_.size(); ++i) {
      const WorkSpan& span = spans_[i];
      const bool follows = i > 0 && spans_[i - 1].thread == span.thread;
      const TimeNs begin = follows ? std::max(span.begin, spans_[i - 1].end) : span.begin;
      if (!parts.add(begin, span.end) || counted == span.thread) continue;
      counted = span.thread;
      ++threads;
    }
    return threads;
  }

 private:
  std::map<InProcess<std::int32_t>, std::uint64_t> threads_;
  std::vector<WorkSpan> spans_;
};

std::optional<std::uint16_t> off_cpu_source(const Profile& profile, const Selection& selection) {
  for (const auto& [index, total] : totals_by_source(profile, selection)) {
    if (profile.source(index).unit == profile::Unit::kNsOffCpu) return index;
  }
  return std::nullopt;
}

}  // namespace

std::optional<WorkersLane> workers_lane(const Profile& profile, const Selection& selection,
                                        std::uint16_t source, TimeNs from, TimeNs to, std::uint32_t buckets,
                                        const std::function<bool(const TimedSample&)>& keep) {
  const bool is_cpu_time = profile.source(source).unit == profile::Unit::kNsOnCpu;
  if (!is_cpu_time || profile.recording().aggregated_ns > 0 || buckets == 0 || from >= to)
    return std::nullopt;
  const auto is_chosen = [&](const TimedSample& sample) {
    const auto [process, execution] = profile.led_by(sample.key->process, sample.key->execution);
    return selected(selection, process, execution) && (!keep || keep(sample));
  };
  ThreadSpans working, waiting;
  for (const TimedSample& sample : profile.samples()) {
    if (sample.key->source == source && is_chosen(sample)) working.add(sample);
  }
  const std::optional<std::uint16_t> off_cpu = off_cpu_source(profile, selection);
  for (const TimedSample& sample : profile.samples()) {
    if (!off_cpu) break;
    const bool waits = sample.key->source == *off_cpu && sample.key->wait != profile::Wait::kRunnable &&
                       sample.key->engine_component != kOwnAgent;
    if (waits && working.knows(sample) && is_chosen(sample)) waiting.add(sample);
  }
  WorkersLane lane;
  Parts worked(from, to, buckets), waited(from, to, buckets);
  lane.threads = working.divide(worked);
  if (lane.threads == 0) return std::nullopt;
  lane.working = worked.take();
  if (!off_cpu) return lane;
  (void)waiting.divide(waited);
  lane.waiting = waited.take();
  return lane;
}

}  // namespace tailor::query
