#include "compiler/weft/tool/measured_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "compiler/weft/plan/print.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

using Json = nlohmann::ordered_json;

MeasuredCost read_cost(const Json& json) {
  return {json.at("samples").get<double>(), json.at("weight").get<double>(), json.at("share").get<double>(),
          json.at("share_low").get<double>(), json.at("share_high").get<double>()};
}

std::vector<std::pair<std::string, MeasuredCost>> read_rows(const Json& rows) {
  std::vector<std::pair<std::string, MeasuredCost>> out;
  for (const Json& row : rows) out.emplace_back(row.at("name").get<std::string>(), read_cost(row));
  return out;
}

void read_report(const Json& json, MeasuredPlan& out) {
  out.total = read_cost(json.at("all"));
  out.engine = read_cost(json.at("engine_components"));
  out.engine_parts = read_rows(json.at("component_rows"));
  out.unattributed = read_cost(json.at("unattributed"));
  out.unattributed_parts = read_rows(json.at("unattributed_rows"));
  double inferred = json.at("all").at("inferred_weight").get<double>();
  out.inferred_share = out.total.cpu_ns > 0 ? inferred / out.total.cpu_ns : 0;
  const Json& account = json.at("accounting");
  out.lost_share = account.at("lost_share").get<double>();
  out.lost_samples =
      account.at("lost_ring").get<std::uint64_t>() + account.at("lost_hardware").get<std::uint64_t>();
  for (const Json& plan : json.at("plans")) {
    for (const Json& row : plan.at("operators")) {
      auto id = row.at("id").get<ComponentId>();
      auto found = std::ranges::find(out.operators, id, &MeasuredOperator::id);
      if (found != out.operators.end()) found->cost = read_cost(row);
    }
  }
}

Json cost_json(const MeasuredCost& cost) {
  return {{"samples", cost.samples},
          {"cpu_ns", cost.cpu_ns},
          {"share", cost.share},
          {"share_low", cost.share_low},
          {"share_high", cost.share_high}};
}

Json parts_json(const std::vector<std::pair<std::string, MeasuredCost>>& parts) {
  Json out = Json::array();
  for (const auto& [name, cost] : parts) {
    Json row = {{"name", name}};
    row.update(cost_json(cost));
    out.push_back(row);
  }
  return out;
}

// Of one execution: numbers that fit a column.
std::string rows(double rows) {
  return rows < 10 && rows != std::floor(rows) ? fmt::format("{:.1f}", rows) : fmt::format("{:.0f}", rows);
}

std::string cost_columns(const MeasuredCost& cost, double executions) {
  return fmt::format("{:>10.3f}{:>8.1f} %{:>6.1f}-{:<5.1f}{:>8.0f}", cost.cpu_ns / executions / 1e6,
                     cost.share * 100, cost.share_low * 100, cost.share_high * 100, cost.samples);
}

}  // namespace

MeasuredPlan describe_plan(const Plan& plan, const std::vector<std::uint64_t>& rows) {
  MeasuredPlan out;
  auto visit = [&](auto& self, const Operator& op, std::uint32_t depth, bool last) -> void {
    out.operators.push_back({op.id,
                             title(op),
                             kind_name(op.kind()),
                             details(op),
                             depth,
                             last,
                             op.estimated_rows,
                             op.id < rows.size() ? rows[op.id] : 0,
                             {}});
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      self(self, *op.inputs[i], depth + 1, i + 1 == op.inputs.size());
  };
  visit(visit, *plan.root, 0, true);
  return out;
}

Status add_report(const std::string& text, MeasuredPlan& out) {
  try {
    read_report(Json::parse(text), out);
  } catch (const Json::exception& error) {
    return internal(fmt::format("the daemon's report cannot be read ({}): is the daemon of another version?",
                                error.what()));
  }
  return Ok{};
}

std::string to_text(const MeasuredPlan& plan) {
  auto executions = static_cast<double>(std::max<std::uint64_t>(plan.executions, 1));
  std::string out = fmt::format("{:>10}{:>10}{:>12}{:>8}{:>12}{:>12}  {}\n", "ms", "share", "95 % range",
                                "samples", "rows", "estimated", "operator");
  std::vector<bool> open;  // by depth: more siblings follow
  for (const MeasuredOperator& op : plan.operators) {
    std::string tree;
    for (std::uint32_t d = 1; d < op.depth; ++d) tree += open[d] ? "|  " : "   ";
    if (op.depth > 0) tree += op.last ? "`- " : "|- ";
    open.resize(op.depth);
    open.push_back(!op.last);
    out += cost_columns(op.cost, executions);
    out += fmt::format("{:>12}{:>12}  {}{}", rows(static_cast<double>(op.rows) / executions),
                       rows(std::round(op.estimated_rows)), tree, op.name);
    out += op.details.empty() ? "\n" : "  " + op.details + "\n";
  }
  auto line = [&](const std::string& name, const MeasuredCost& cost) {
    out += cost_columns(cost, executions) + std::string(24, ' ') + "  " + name + "\n";
  };
  for (const auto& [name, cost] : plan.engine_parts) line("engine: " + name, cost);
  for (const auto& [name, cost] : plan.unattributed_parts) line("unattributed: " + name, cost);
  line("all", plan.total);
  out += fmt::format(
      "{} execution{}, each {} rows, {:.3f} ms of wall time and {:.3f} ms of CPU time by the engine's "
      "clocks\n"
      "unattributed {:.1f} %, inferred {:.1f} %; lost in the daemon's whole recording {:.1f} % ({} "
      "samples)\n",
      plan.executions, plan.executions == 1 ? "" : "s", plan.result_rows,
      static_cast<double>(plan.wall_ns) / executions / 1e6,
      static_cast<double>(plan.cpu_ns) / executions / 1e6, plan.unattributed.share * 100,
      plan.inferred_share * 100, plan.lost_share * 100, plan.lost_samples);
  if (plan.total.samples < 100)
    out += fmt::format("{:.0f} samples say little: --repeat N executes N times\n", plan.total.samples);
  return out;
}

std::string to_json(const MeasuredPlan& plan) {
  Json out = {{"executions", plan.executions},
              {"wall_ns", plan.wall_ns},
              {"cpu_ns", plan.cpu_ns},
              {"result_rows", plan.result_rows},
              {"all", cost_json(plan.total)},
              {"operators", Json::array()},
              {"engine", cost_json(plan.engine)},
              {"engine_parts", parts_json(plan.engine_parts)},
              {"unattributed", cost_json(plan.unattributed)},
              {"unattributed_parts", parts_json(plan.unattributed_parts)},
              {"inferred_share", plan.inferred_share},
              {"lost_share", plan.lost_share},
              {"lost_samples", plan.lost_samples}};
  for (const MeasuredOperator& op : plan.operators) {
    Json row = {{"id", op.id},           {"name", op.name},   {"kind", op.kind},
                {"details", op.details}, {"depth", op.depth}, {"estimated_rows", op.estimated_rows},
                {"rows", op.rows}};
    row.update(cost_json(op.cost));
    out["operators"].push_back(row);
  }
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tailor::weft
