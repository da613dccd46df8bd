#include "daemon/serve/bounds_view.h"

#include <cstdint>
#include <string>

#include "daemon/query/json/bounds_json.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"
#include "daemon/serve/main_plan.h"

namespace tailor::serve {
namespace {

// An execution that runs still has a part of its cost. Among this many it makes no difference.
constexpr std::uint64_t kManyForEachRunning = 20;

// Why costs cannot be divided by the executions; empty: they can.
std::string why_not_divided(const View& view, const MainExecutions& executions) {
  if (!view.profile.narrowed_to().empty()) return "some of the samples were chosen";
  if (!executions.runs_known) return "nobody told how many runs were added up";
  if (executions.running > executions.count / kManyForEachRunning) return "an execution runs still";
  return "";
}

}  // namespace

Result<query::BoundsReport> bounds_of(const View& view, const BoundsRequest& request) {
  auto report = query::plan_report(view.profile, view.selection);
  if (!report) return report.error();
  // Those without samples count too.
  const MainExecutions executions = main_executions(view, *report);
  query::unite_plans(*report);
  return query::bounds_report(view.profile, *report,
                              {.cache_bytes = request.cache_bytes,
                               .rates = request.rates,
                               .runs = executions.count,
                               .runs_unknown = why_not_divided(view, executions)});
}

Result<query::Json> bounds_json(const View& view, const BoundsRequest& request) {
  const auto report = bounds_of(view, request);
  if (!report) return report.error();
  return query::json_of(view.profile, *report);
}

}  // namespace tailor::serve
