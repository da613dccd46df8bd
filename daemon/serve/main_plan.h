// Of the executions of a view, those of the plan that cost most: what a comparison is of.
#pragma once

#include <cstdint>

#include "daemon/query/reports/plan_report.h"
#include "daemon/serve/view.h"
#include "proto/base/result.h"

namespace tailor::serve {

// Executions that ran other plans; those of the plan that stand for runs which were added up, nobody knows
// how many; and how many there were in all.
struct OtherPlans {
  std::uint64_t left_out = 0, runs_unknown = 0, all = 0;
};

struct MainExecutions {
  std::uint64_t count = 0;
  std::uint64_t running = 0;  // of them, those that did not end
  bool runs_known = true;     // of each
};

// Executions in the view of what `report`, which is of the view, has as its main plan. Their cost is known:
// of a share that is sampled, they are those that were drawn. Runs that are added up count each.
MainExecutions main_executions(const View& view, const query::PlanReport& report);

// Chooses the executions of the most expensive plan, wherever it was registered, with samples or without: a
// side of a comparison may hold its loading, other queries, and other plans of the same query. Changes
// nothing where no log says whose samples these are. Executions of an unknown number of runs are left out,
// unless there are no others: what one run costs would be wrong. Not found if no sample is of a plan.
Result<OtherPlans> only_main_plan(View& view);

}  // namespace tailor::serve
