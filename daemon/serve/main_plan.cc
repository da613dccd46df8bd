#include "daemon/serve/main_plan.h"

#include <set>
#include <utility>

#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"

namespace tailor::serve {

Result<OtherPlans> only_main_plan(View& view) {
  auto report = query::plan_report(view.profile, view.selection);
  if (!report) return report.error();
  if (report->plans.empty()) return not_found("there is no sample of a query plan to compare");
  query::MainPlans main(*view.whole, *report);
  std::set<query::InProcess<ExecutionHandle>> chosen;
  OtherPlans others;
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    const query::InProcess<ExecutionHandle> id{execution.process, execution.handle};
    if (!view.selection.executions.empty() && !view.selection.executions.contains(id)) continue;
    ++others.all;
    if (main.contains({execution.process, execution.plan})) {
      chosen.insert(id);
    } else {
      ++others.left_out;
    }
  }
  if (chosen.empty()) return OtherPlans{};
  view.selection.executions = std::move(chosen);
  return others;
}

}  // namespace tailor::serve
