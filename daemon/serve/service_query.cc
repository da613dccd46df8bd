// What a service answers of one query: its runs, and where they spent their time.
#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>

#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"
#include "daemon/query/sums/keys.h"
#include "daemon/serve/history.h"
#include "daemon/serve/query_runs.h"
#include "daemon/serve/service.h"

namespace tailor::serve {
namespace {

// Runs of a query while they are listed.
struct ListedRuns {
  QuerySum sum;
  QueryRuns runs;
  std::string first_sampled, last_sampled;  // "": none has samples

  void add(const store::ExecutionRow& row) {
    sum.add(row, SIZE_MAX);
    runs.add(row);
    if (row.cost.samples == 0) return;
    first_sampled = query::hex(row.record.id);
    if (last_sampled.empty()) last_sampled = first_sampled;
  }
};

// The operators of the most expensive plan.
Json operators_json(const query::Profile& profile, const query::PlanReport& report) {
  Json all = query::json_of(profile, report);
  return all["plans"].empty() ? Json::array() : std::move(all["plans"][0]["operators"]);
}

Json taken_json(const QueryRuns& runs) {
  return {{"executions", runs.executions()},
          {"sampled", runs.sampled()},
          {"left_out", runs.left_out()},
          {"notes", Json::array()},
          {"samples", 0},
          {"plans", 0},
          {"operators", Json::array()}};
}

// Of all of the view.
Status add_operators(const View& view, Json& runs) {
  auto report = query::plan_report(view.profile, view.selection);
  if (!report) return report.error();
  query::unite_plans(*report);
  runs["notes"] = view.notes;
  runs["source"] = query::source_json(report->source);
  runs["samples"] = report->total.samples;
  runs["plans"] = report->plans.size();
  runs["operators"] = operators_json(view.profile, *report);
  return Ok{};
}

// Of one execution of it; empty where it has none.
Json operators_of(const View& view, const std::string& id) {
  query::Selection only = view.selection;
  only.executions.clear();
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    if (query::hex(execution.id) == id)
      only.executions.insert(view.whole->led_by(execution.process, execution.handle));
  }
  if (only.executions.empty()) return Json::array();
  auto report = query::plan_report(view.profile, only);
  return report ? operators_json(view.profile, *report) : Json::array();
}

}  // namespace

Result<Json> Service::fingerprint(const FingerprintRequest& request, const Access& access, const Stop& stop) {
  constexpr std::size_t kMostListed = 100;
  ExecutionFilter filter = request.filter;
  filter.fingerprint = request.fingerprint;
  filter.visible = visible_to(access);
  ListedRuns listed;
  Status read = library_.visit(in_order_of_time(filter), stop, [&](const store::ExecutionRow& row) {
    listed.add(row);
    return true;
  });
  if (!read) return read.error();
  if (listed.runs.taken() == 0)
    return not_found(
        fmt::format("no execution has the fingerprint \"{}\"", request.fingerprint.substr(0, 64)));
  filter.limit = kMostListed;
  auto list = library_.executions(filter, stop);
  if (!list) return list.error();
  Json out = sum_json(request.fingerprint, listed.sum);
  out["executions_list"] = executions_json(list->rows)["executions"];
  out["first_sampled"] = listed.first_sampled;
  out["last_sampled"] = listed.last_sampled;
  out["runs"] = taken_json(listed.runs);
  out["operators"] = Json::array();
  if (listed.last_sampled.empty()) return out;
  auto view = open(listed.runs.target(filter), {}, Detail::kSums, access, stop);
  if (!view) return view.error();
  if (Status added = add_operators(*view, out["runs"]); !added) return added.error();
  out["operators"] = operators_of(*view, listed.last_sampled);
  out["operators_of"] = listed.last_sampled;
  return out;
}

}  // namespace tailor::serve
