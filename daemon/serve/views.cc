#include "daemon/serve/views.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/cgroup.h"
#include "daemon/query/json/accounting_json.h"
#include "daemon/query/json/iterations_json.h"
#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/annotate_report.h"
#include "daemon/query/reports/growth.h"
#include "daemon/query/reports/same_plans.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/json_time.h"
#include "daemon/serve/main_plan.h"
#include "daemon/serve/run_sums.h"
#include "daemon/serve/sums_json.h"
#include "daemon/serve/view_json.h"

namespace tailor::serve {

Json view_json(const View& view, const profile::Source& source, double samples, double weight) {
  Json out = {
      {"id", view.id}, {"source", query::source_json(source)}, {"samples", samples}, {"weight", weight}};
  const profile::RecordingInfo& info = view.whole->recording();
  if (info.wall_clock_ns != 0)
    out["origin_ms"] = to_ms(info.wall_clock_ns + static_cast<std::uint64_t>(view.origin - info.start));
  if (view.runs)
    out["runs"] = {{"executions", view.runs->executions},
                   {"sampled", view.runs->sampled},
                   {"left_out", view.runs->left_out}};
  if (!view.notes.empty()) out["notes"] = view.notes;
  if (!view.profile.narrowed_to().empty()) out["filters"] = {{"only", view.profile.narrowed_to()}};
  return out;
}

void add_accounts(const View& view, Json& out) {
  out["accounting"] = query::accounting_json(query::account_of(*view.whole));
  out["file"] = query::damage_json(*view.whole);
}

Result<query::ElapsedTime> elapsed_of(const View& view) {
  return query::elapsed_time(view.profile, view.selection, view.from, view.to);
}

namespace {

Result<query::PlanReport> report_of(const View& view, SharesOf of) {
  if (of == SharesOf::kElapsed) {
    const auto time = elapsed_of(view);
    return time ? query::plan_report(*time) : time.error();
  }
  query::Selection selection = view.selection;
  if (of == SharesOf::kEverything) selection.base = query::Base::kEverything;
  return query::plan_report(view.profile, selection);
}

}  // namespace

Result<Json> profile_json(const View& view, SharesOf of) {
  auto report = report_of(view, of);
  if (!report) return report.error();
  // Of a query a plan may have been registered for each execution.
  if (view.runs) query::unite_plans(*report);
  Json out = {{"view", view_json(view, report->source, static_cast<double>(report->total.samples),
                                 report->total.weight)}};
  out.update(query::json_of(view.profile, *report));
  return out;
}

Result<query::FlameReport> flame_of(const View& view, const std::vector<query::FlameLevel>& order,
                                    SharesOf of) {
  if (of == SharesOf::kElapsed) {
    if (query::has_functions(order))
      return invalid(
          "functions and addresses have no part of the elapsed time: leave them out of the order, or ask for "
          "CPU time");
    const auto time = elapsed_of(view);
    return time ? query::flame_report(*time, order) : time.error();
  }
  if (!query::has_functions(order)) return query::flame_report(view.profile, view.selection, order);
  return query::flame_report_with_functions(*view.whole, view.selection, order, view.keep);
}

Result<Json> flame_json(const View& view, const std::vector<query::FlameLevel>& order, SharesOf of) {
  auto report = flame_of(view, order, of);
  if (!report) return report.error();
  // By hand: a tree as deep as its levels.
  const auto node_json = [](const auto& self, const query::FlameNode& node) -> Json {
    Json out = {{"key", node.key}, {"kind", node.kind}};
    if (node.id != 0 || node.kind == "pipeline") out["id"] = node.id;
    out["name"] = node.name;
    out["weight"] = node.weight;
    out["samples"] = node.samples;
    out["children"] = Json::array();
    for (const query::FlameNode& child : node.children) out["children"].push_back(self(self, child));
    return out;
  };
  Json out = {{"view", view_json(view, report->source, report->root.samples, report->root.weight)}};
  out["order"] = Json::array();
  for (query::FlameLevel level : report->order) out["order"].push_back(query::flame_key(level));
  if (report->elapsed) out["of"] = "elapsed";
  out["root"] = node_json(node_json, report->root);
  add_accounts(view, out);
  return out;
}

Result<Json> listing_json(const View& view, const std::string& plan_key) {
  PlanId plan = 0;
  query::Selection selection = view.selection;
  // As everywhere on a page, of what is shown.
  selection.base = query::Base::kEverything;
  if (!plan_key.empty()) {
    for (const auto& [key, cell] : view.profile.cells()) {
      if (key.plan == 0 || query::plan_key(key.process, key.plan) != plan_key) continue;
      plan = key.plan;
      selection.process = key.process;
      break;
    }
    if (plan == 0) return not_found(fmt::format("there is no sample of plan \"{}\" here", plan_key));
  }
  auto report = query::annotate_report(view.profile, selection, plan);
  if (!report) return report.error();
  const query::Cell& total = report->summary.total;
  Json out = {
      {"view", view_json(view, report->summary.source, static_cast<double>(total.samples), total.weight)}};
  out.update(query::json_of(view.profile, *report));
  return out;
}

Result<Json> iterations_json(const View& view, query::IterationsFrom from) {
  auto loops = query::find_loops(*view.whole, view.selection, from);
  if (!loops) return loops.error();
  return query::json_of(*view.whole, view.selection, *loops);
}

Result<Json> sources_json(const View& view) {
  const auto totals = query::totals_by_source(view.profile, view.selection);
  const auto shown = query::default_source(view.profile, view.selection);
  Json out = {{"sources", Json::array()}};
  for (const auto& [index, total] : totals) {
    Json source = query::source_json(view.profile.source(index));
    source["samples"] = total.samples;
    source["weight"] = total.weight;
    source["default"] = shown && *shown == index;
    out["sources"].push_back(std::move(source));
  }
  return out;
}

namespace {

Json side_json(const std::optional<query::ComparedSide>& side) {
  if (!side) return nullptr;
  // Sums know the operator, and no plan of a process.
  Json out = {
      {"key", side->plan == 0 ? Json() : Json(query::operator_key(side->process, side->plan, side->row.id))},
      {"id", side->plan == 0 && side->row.id == kNoComponent ? Json() : Json(side->row.id)}};
  query::add_cost(out, side->row.cost);
  return out;
}

// How many times the cost of an execution of A one of B has. Null where too few samples say it, or sums do
// not, and where nobody knows how many runs an execution is.
Json growth_json(const query::Comparison& both, const query::Amount& a, const query::Amount& b) {
  if (!both.intervals_known || !both.runs_known) return nullptr;
  const auto grown = query::growth(query::sampled_cost(both.a, a, query::parts_of(both.executions_a)),
                                   query::sampled_cost(both.b, b, query::parts_of(both.executions_b)));
  if (!grown) return nullptr;
  return {{"ratio", grown->ratio}, {"low", grown->low}, {"high", grown->high}};
}

Json changes_json(const query::Comparison& both, Json out, const query::Share95& a, const query::Share95& b) {
  out["weight_change"] = b.amount.weight - a.amount.weight;
  out["growth"] = growth_json(both, a.amount, b.amount);
  out["share_change"] = b.share - a.share;
  out["significant"] = query::differs(a, b);
  return out;
}

Json first_execution(const View& view) {
  for (const store::ExecutionRow& row : rows_of(*view.whole)) {
    if (query::selected(view.selection, row.record.process, row.record.handle)) {
      const auto process = view.whole->processes().find(row.record.process);
      return execution_json(row, process == view.whole->processes().end() ? nullptr : &process->second);
    }
  }
  return Json::object();
}

}  // namespace

Result<query::Comparison> comparison(const View& a, const View& b) {
  // Operators and what is beside them are rows of one table.
  query::Selection of_a_all = a.selection, of_b_all = b.selection;
  of_a_all.base = of_b_all.base = query::Base::kEverything;
  auto left = query::plan_report(a.profile, of_a_all);
  if (!left) return left.error();
  auto right = query::plan_report(b.profile, of_b_all);
  if (!right) return right.error();
  if (left->source.unit != right->source.unit)
    return invalid(fmt::format("{} and {} have different units and cannot be compared", left->source.name,
                               right->source.name));
  // Those without samples count too.
  const MainExecutions of_a = main_executions(a, *left), of_b = main_executions(b, *right);
  query::Comparison both = query::compare(std::move(*left), std::move(*right));
  both.executions_a = std::max(both.executions_a, of_a.count);
  both.executions_b = std::max(both.executions_b, of_b.count);
  both.runs_known = of_a.runs_known && of_b.runs_known;
  return both;
}

namespace {

Json compared_json(const query::Comparison& both) {
  Json out = {{"source", query::source_json(both.a.source)},
              {"executions", {{"a", both.executions_a}, {"b", both.executions_b}}},
              {"same_plan", both.plans_known ? Json(both.same_plan) : Json()},
              {"growth", growth_json(both, both.a.all.amount, both.b.all.amount)}};
  if (!both.runs_known) out["runs_unknown"] = true;
  out["operators"] = Json::array();
  for (const query::ComparedOperator& row : both.operators) {
    const query::OperatorRow& shown = row.a ? row.a->row : row.b->row;
    Json json = {{"change", query::name_of(row.change)}, {"name", shown.name}, {"kind", shown.kind}};
    json["a"] = side_json(row.a);
    json["b"] = side_json(row.b);
    const query::Scale of_a = query::scale_of(both.a), of_b = query::scale_of(both.b);
    out["operators"].push_back(changes_json(both, std::move(json), row.a ? row.a->row.cost : of_a({}),
                                            row.b ? row.b->row.cost : of_b({})));
  }
  out["rest"] = Json::array();
  for (const query::ComparedRest& row : both.rest) {
    Json json = {
        {"key", row.key}, {"name", row.name}, {"a", query::cost_json(row.a)}, {"b", query::cost_json(row.b)}};
    out["rest"].push_back(changes_json(both, std::move(json), row.a, row.b));
  }
  return out;
}

// Sums do not know what of a cost is shared.
void leave_out_unknown(const query::Comparison& both, Json& row) {
  for (const char* side : {"a", "b"}) {
    Json& cost = row[side];
    if (!cost.is_object()) continue;
    cost["shared_weight"] = nullptr;
    if (!both.intervals_known) cost["share_low"] = cost["share_high"] = nullptr;
    if (!both.details_known) cost["kernel_weight"] = cost["inferred_weight"] = nullptr;
  }
  if (!both.intervals_known) row["significant"] = nullptr;
}

}  // namespace

Json sums_comparison_json(const query::Comparison& both) {
  Json out = {{"a", Json::object()}, {"b", Json::object()}, {"sums", true}};
  out.update(compared_json(both));
  for (const char* rows : {"operators", "rest"}) {
    for (Json& row : out[rows]) leave_out_unknown(both, row);
  }
  return out;
}

Result<Json> compare_json(const View& a, const View& b) {
  auto compared = comparison(a, b);
  if (!compared) return compared.error();
  const query::Comparison& both = *compared;
  Json out = {{"a", first_execution(a)}, {"b", first_execution(b)}};
  out.update(compared_json(both));
  out["accounting"] = {{"a", query::accounting_json(both.a.accounting)},
                       {"b", query::accounting_json(both.b.accounting)}};
  out["file"] = {{"a", query::damage_json(*a.whole)}, {"b", query::damage_json(*b.whole)}};
  return out;
}

namespace {

void add_cgroup(const std::string& cgroup, Json& out) {
  const profile::CgroupNames names = profile::names_in_cgroup(cgroup);
  out["cgroup"] = cgroup;
  out["pod"] = names.pod;
  out["container"] = names.container;
}

// Times of a file may be any numbers.
std::uint64_t since_begin(TimeNs time, TimeNs begin) {
  return time <= begin ? 0 : static_cast<std::uint64_t>(time) - static_cast<std::uint64_t>(begin);
}

Json blockers_json(const profile::ExecutionRecord& execution) {
  Json out = Json::array();
  for (const profile::Blocker& each : execution.blockers->seen) {
    const bool has_execution = each.execution != ExecutionId{};
    out.push_back({{"pid", each.process.pid},
                   {"process_start", each.process.start},
                   {"execution", has_execution ? Json(query::hex(each.execution)) : Json()},
                   {"from_ns", since_begin(each.from, execution.begin)},
                   {"to_ns", since_begin(each.to, execution.begin)}});
  }
  return out;
}

Json rate_of_row(const store::ExecutionRow& row) {
  return row.frequency == 0 ? Json() : Json{{"hz", row.frequency}, {"why", row.rate_why}};
}

}  // namespace

Json execution_json(const store::ExecutionRow& row, const profile::ProcessRecord* process) {
  const profile::ExecutionRecord& e = row.record;
  Json out = {{"id", query::hex(e.id)},
              {"pid", e.process.pid},
              {"process_start", e.process.start},
              {"plan", e.plan},
              {"plan_key", query::plan_key(e.process, e.plan)},
              {"plan_name", row.plan_name},
              {"fingerprint", fingerprint_of(row)}};
  if (process != nullptr) {
    out["comm"] = process->comm;
    out["engine"] =
        process->engine_name + (process->engine_version.empty() ? "" : " " + process->engine_version);
  } else if (!row.comm.empty() || !row.engine.empty()) {
    out["comm"] = row.comm;
    out["engine"] = row.engine;
  }
  if (!row.cgroup.empty()) add_cgroup(row.cgroup, out);
  if (row.frequency != 0) out["rate"] = rate_of_row(row);
  out["began_ms"] = to_ms(row.wall_begin_ns);
  out["began_wall_ns"] = row.wall_begin_ns;
  out["running"] = e.end == kTimeMax;
  if (e.end != kTimeMax) out["elapsed_ns"] = std::max<TimeNs>(0, e.end - e.begin);
  out["cpu_ns"] = row.cost.cpu_ns;
  out["samples"] = row.cost.samples;
  out["drawn"] = e.drawn;
  out["tags"] = !e.tags_off;
  out["rows"] = e.rows_known ? Json(e.rows) : Json();
  if (e.added != nullptr)
    out["added_runs"] = {
        {"runs", e.added->runs}, {"failed", e.added->failed}, {"elapsed_ns", elapsed_json(run_sum_of(e))}};
  if (profile::is_untimed(e)) out["runs_unknown"] = true;
  if (e.blockers != nullptr) {
    out["blockers"] = blockers_json(e);
    out["blockers_left_out"] = e.blockers->left_out;
  }
  out["error"] = e.error;
  out["labels"] = Json::object();
  for (const auto& [key, value] : e.labels) out["labels"][key] = value;
  return out;
}

Json executions_json(const std::vector<store::ExecutionRow>& rows) {
  Json out = {{"executions", Json::array()}};
  for (const store::ExecutionRow& row : rows) out["executions"].push_back(execution_json(row, nullptr));
  return out;
}

namespace {

Json rfc3339_json(std::uint64_t wall_ns) {
  return wall_ns == 0 ? Json() : Json(query::rfc3339(wall_ns));
}

// What stays of executions whose samples are gone, by hour or day, and query.
Json gone_json(const GoneRow& row) {
  const std::uint64_t begin = static_cast<std::uint64_t>(row.hour) * store::kHourNs;
  return {{"fingerprint", row.fingerprint},
          {"plan_name", row.names.name},
          {"text", row.names.text},
          {"hour_wall_ns", begin},
          {"hour", query::rfc3339(begin)},
          {"hours", row.hours},
          {"executions", row.runs.executions},
          {"failed", row.runs.failed},
          {"drawn", row.runs.sampled()},
          {"elapsed_ns", elapsed_json(row.runs)},
          {"cpu_ns", store::to_number(row.cpu.weight)},
          {"samples", store::to_number(row.cpu.samples)}};
}

void put_removed(const std::vector<store::RemovedOfUser>& removed, Json& list) {
  if (!removed.empty()) list["removed"] = removed_json(removed);
}

}  // namespace

Json removed_json(const std::vector<store::RemovedOfUser>& removed) {
  Json out = Json::array();
  for (const store::RemovedOfUser& each : removed) {
    out.push_back({{"uid", each.uid ? Json(*each.uid) : Json()},
                   {"executions", each.executions},
                   {"since_ms", to_ms(each.first_ns)},
                   {"until_ms", to_ms(each.last_ns)}});
  }
  return out;
}

Json executions_page_json(const ExecutionList& list, const std::vector<store::RemovedOfUser>& removed,
                          const GoneList* gone) {
  Json out = executions_json(list.rows);
  put_removed(removed, out);
  if (list.more && !list.rows.empty()) out["next"] = query::hex(list.rows.back().record.id);
  if (gone == nullptr) return out;
  out["gone"] = gone_json(*gone);
  out["gone_more"] = gone->more;
  return out;
}

Json list_json(const ExecutionList& list, const GoneList& gone,
               const std::vector<store::RemovedOfUser>& removed, Json file) {
  Json out = executions_json(list.rows);
  for (std::size_t i = 0; i < list.rows.size(); ++i) {
    Json& json = out["executions"][i];
    json["comm"] = list.rows[i].comm;  // here also where they are not known
    json["engine"] = list.rows[i].engine;
    add_cgroup(list.rows[i].cgroup, json);
    json["rate"] = rate_of_row(list.rows[i]);
    json["began"] = rfc3339_json(list.rows[i].wall_begin_ns);
  }
  out["more"] = list.more;
  out["gone"] = Json::array();
  for (const GoneRow& row : gone.rows) out["gone"].push_back(gone_json(row));
  out["gone_more"] = gone.more;
  put_removed(removed, out);
  out["file"] = std::move(file);
  return out;
}

Json plan_changes_json(const PlanChangeList& list) {
  Json changes = Json::array();
  for (const PlanChange& change : list.changes)
    changes.push_back({{"fingerprint", change.fingerprint},
                       {"before", execution_json(change.before, nullptr)},
                       {"after", execution_json(change.after, nullptr)}});
  return {{"plan_changes", std::move(changes)},
          {"more", list.more},
          {"executions", list.executions},
          {"without_plan", list.without_plan},
          {"cut", list.cut}};
}

}  // namespace tailor::serve
