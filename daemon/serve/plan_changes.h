// Executions that ran by another plan than the execution of their query before. Two plans are the same where
// the same is in them (plan_shape.h), so a daemon or an engine that was started anew changes none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/store/catalogue.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

class Library;
struct ExecutionFilter;

struct PlanChange {
  std::string fingerprint;
  store::ExecutionRow before, after;  // the last one by the old plan, the first one by the new one
};

struct PlanChangeList {
  std::vector<PlanChange> changes;  // newest first
  bool more = false;                // there are older ones
  std::uint64_t executions = 0;     // that were compared
  std::uint64_t without_plan = 0;   // whose plan is not known: they are left out
  bool cut = false;                 // only the newest kMostComparedRuns executions were looked at
};

inline constexpr std::size_t kMostComparedRuns = 500'000;

// At most filter.limit changes among the executions that pass the filter.
Result<PlanChangeList> plan_changes(Library& library, const ExecutionFilter& filter, const Stop& stop);

}  // namespace tailor::serve
