#include "daemon/serve/main_plan.h"

#include <set>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"

namespace tailor::serve {

MainExecutions main_executions(const View& view, const query::PlanReport& report) {
  query::MainPlans plans(*view.whole, report);
  MainExecutions out;
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    if (!execution.drawn || !plans.contains({execution.process, execution.plan}) ||
        !query::selected(view.selection, execution.process, execution.handle))
      continue;
    profile::add_bounded(out.count, profile::runs_of(execution));
    out.running += execution.end == kTimeMax;
    out.runs_known = out.runs_known && !profile::has_unknown_runs(execution);
  }
  return out;
}

Result<OtherPlans> only_main_plan(View& view) {
  auto report = query::plan_report(view.profile, view.selection);
  if (!report) return report.error();
  if (report->plans.empty()) return not_found("there is no sample of a query plan to compare");
  query::MainPlans main(*view.whole, *report);
  std::set<query::InProcess<ExecutionHandle>> chosen, unknown;
  OtherPlans others;
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    const query::InProcess<ExecutionHandle> id{execution.process, execution.handle};
    if (!view.selection.executions.empty() && !view.selection.executions.contains(id)) continue;
    ++others.all;
    if (!main.contains({execution.process, execution.plan})) {
      ++others.left_out;
    } else if (profile::has_unknown_runs(execution)) {
      ++others.runs_unknown;
      unknown.insert(id);
    } else {
      chosen.insert(id);
    }
  }
  if (chosen.empty()) {
    others.runs_unknown = 0;
    chosen = std::move(unknown);
  }
  if (chosen.empty()) return OtherPlans{};
  view.selection.executions = std::move(chosen);
  return others;
}

}  // namespace tailor::serve
