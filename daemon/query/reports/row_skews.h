// How unevenly threads shared the work of the rows of a plan report of elapsed time.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/skew.h"
#include "daemon/query/time/elapsed_time.h"

namespace tailor::query {

// What threads did, by cell of the profile (ElapsedTime::work).
using WorkByCell = std::map<CellKey, std::vector<ThreadWork>>;

// What threads did of the cell. `work`: null where the report is of CPU time.
std::span<const ThreadWork> work_of(const WorkByCell* work, const Cost& cost);

// Of a row that owns this part of the cell.
void add_work(std::span<const ThreadWork> work, double part, SkewSum& to);

template <typename Key>
std::optional<Skew> skew_in(const std::map<Key, SkewSum>& sums, const Key& key) {
  const auto found = sums.find(key);
  return found == sums.end() ? std::nullopt : found->second.skew();
}

}  // namespace tailor::query
