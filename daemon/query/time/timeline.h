// What was active when: the samples of a selection in buckets of time, by owner, in lanes (the paper's
// Figures 7 and 11).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/time/workers_lane.h"
#include "proto/base/result.h"

namespace tailor::query {

enum class Lanes { kAll, kPipeline, kThread };

struct TimelineOptions {
  std::uint32_t buckets = 200;  // 1 to kMaxBuckets
  Lanes lanes = Lanes::kPipeline;
  OwnedBy by = OwnedBy::kOperator;
  TimeNs from = kTimeMin, to = kTimeMax;         // default: from the first sample or execution to the last
  std::function<bool(const TimedSample&)> keep;  // empty: all
  // The same for samples of any time: one behind `to` may stand for time before it. For `workers`.
  std::function<bool(const TimedSample&)> keep_of_any_time;
};

struct TimelineSeries {
  Owner owner;
  std::vector<double> samples, weights;  // by bucket
};

struct TimelineLane {
  std::string key, name;
  Lanes kind = Lanes::kAll;
  std::uint32_t id = 0;  // of a pipeline
  std::int32_t tid = 0;  // of a thread
  double weight = 0;
  std::vector<TimelineSeries> series;  // most expensive first
};

struct Timeline {
  profile::Source source;
  TimeNs from = 0, to = 0;
  double bucket_ns = 1;
  std::uint32_t buckets = 1;
  double samples = 0, weight = 0;   // all of them: no sample of the time is in no bucket
  std::vector<TimelineLane> lanes;  // the first has everything; the others add up to it, most expensive first
  std::optional<WorkersLane> workers;  // by bucket; none where it is not known, see workers_lane()
};

inline constexpr std::uint32_t kMaxBuckets = 2000;

// The profile must keep its samples, and by function their functions. Fails if the selection has no samples
// of the source, and for more numbers than an answer may have.
Result<Timeline> timeline(const Profile& profile, const Selection& selection, const TimelineOptions& options);

// From the begin of the selected executions to their end; of what runs, and without executions, from and to
// what the profile holds. [from, to).
std::pair<TimeNs, TimeNs> time_span(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
