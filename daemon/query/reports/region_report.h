// Memory by region: what it is, what it cost, how it was accessed.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/reports/memory_report.h"
#include "daemon/query/sums/access_pattern.h"
#include "daemon/query/sums/memory_points.h"

namespace tailor::query {

// All regions of one kind in one process.
struct RegionRow {
  ProcessId process;
  std::uint32_t kind = 0;  // 0: nothing is known of the memory
  std::string name;        // may be hostile
  std::string_view role;   // what the engine says it is: "column", "hash table"; "" if it does not
  Share95 cost;            // of everything sampled
  double latency = 0;      // mean cycles of an access; 0: the source does not tell
  std::array<double, kMemoryLevels> served_by{};
  std::uint64_t regions = 0;  // that have samples
  // Of most of its samples: at least 80 % of those with a known pattern, which are at least half of all.
  // kMixed: the patterns differ.
  Walk walk;
};

// Most expensive first. `report` and `points` are of the same samples; no point may be left out.
std::vector<RegionRow> region_rows(const Profile& profile, const MemoryReport& report,
                                   const MemoryPoints& points);

// "hash table": the role as engines number it when they declare a kind of region; "" for none and for other
// numbers.
std::string_view role_key(std::uint32_t role);

}  // namespace tailor::query
