// Single accesses to memory: when, where in which region, on whose behalf (the paper's Figure 12).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/owners.h"
#include "proto/base/result.h"

namespace tailor::query {

// A region as one thread's log added it.
struct RegionLife {
  ProcessId process;
  std::uint32_t kind = 0;
  std::int32_t tid = 0;
  std::uint64_t base = 0, size = 0;
  TimeNs from = 0, to = kTimeMax;  // kTimeMax: never removed
  std::uint64_t samples = 0;       // points in it, shown or not
};

// Rows of equal number in all columns.
struct MemoryPoints {
  std::vector<RegionLife> regions;  // those with points
  std::vector<Owner> owners;
  std::uint64_t total = 0;  // samples with a data address in the selection
  std::vector<TimeNs> time;
  std::vector<std::int32_t> region;     // index into regions, -1: in none
  std::vector<std::uint64_t> offset;    // in the region; of no region the address
  std::vector<std::int32_t> owner;      // index into owners: who has most of the sample
  std::vector<std::uint32_t> pipeline;  // of the owner's plan, in which it worked; 0: none known
  std::vector<std::int32_t> tid;
  std::vector<ExecutionHandle> execution;  // of the region's process; 0: of none
  std::vector<double> weight;              // with that of the points left out
  std::vector<std::uint32_t> latency;      // cycles, 0 unknown
};

inline constexpr std::size_t kAllPoints = UINT32_MAX;

// Of all points of each region every nth, so that at most `most` remain; with more regions than half of that,
// every nth of all. The weights of those left out are added to the one before them, so that sums hold. The
// profile must keep samples and activity.
MemoryPoints memory_points(const Profile& profile, const Selection& selection, std::uint16_t source,
                           std::size_t most, const std::function<bool(const TimedSample&)>& keep);

}  // namespace tailor::query
