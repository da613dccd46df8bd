// All samples of a selection as columns, with what many of them share beside: for a reader that filters by
// itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::query {

// What a group of samples has in common.
struct SampleCell {
  const CellKey* key = nullptr;  // of the profile
  ProcessId plan_process;        // whose plan it is: the leader's, where the execution has one
  PlanId plan = 0;
  Cost::Class what = Cost::Class::kUnattributed;
  std::string owner_key;  // of an engine component, of what is unattributed: as of keys.h
  // Of a plan: on each level from the top to the lowest that is known, with its name.
  std::vector<std::pair<std::string, Owners>> levels;
};

struct SampleColumns {
  std::vector<std::uint16_t> sources;  // that have samples here
  std::vector<SampleCell> cells;
  std::vector<TimeNs> time;
  std::vector<std::int32_t> tid;
  std::vector<std::uint64_t> weight;
  std::vector<std::uint32_t> cell;  // index into cells
};

// The same of samples that are added up over slices of time.
struct SliceColumns {
  std::vector<std::uint16_t> sources;
  std::vector<SampleCell> cells;
  TimeNs slice_ns = 1;
  std::vector<TimeNs> time;  // begin of the slice
  std::vector<std::uint32_t> cell;
  std::vector<std::uint64_t> samples, weight;
  std::vector<double> squares;  // of the weights of the samples
};

// The profile must have slices() and outlive the columns. Fails for more rows than `limit`, however long
// slices are.
Result<SliceColumns> slice_columns(const Profile& profile, const Selection& selection, std::size_t limit);

// Samples of all sources, or of the one that is selected, by time. The profile must keep its samples and
// outlive the columns. Fails for more than `limit` samples.
Result<SampleColumns> sample_columns(const Profile& profile, const Selection& selection, std::size_t limit,
                                     const std::function<bool(const TimedSample&)>& keep);

}  // namespace tailor::query
