#include "daemon/query/json/report_json.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "daemon/query/json/accounting_json.h"
#include "daemon/query/json/json_parts.h"
#include "daemon/query/load/attributes.h"
#include "daemon/query/reports/function_report.h"
#include "daemon/query/reports/stack_rules.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/sums/terms.h"

namespace tailor::query {
namespace {

Json drawn_json(const DrawnSum& drawn) {
  Json out = {{"executions", drawn.executions}, {"drawn", drawn.drawn}, {"weight", drawn.weight}};
  out["estimate"] = nullptr;
  if (const auto total = drawn_total(std::array{drawn}))
    out["estimate"] = {{"weight", total->weight}, {"low", total->low}, {"high", total->high}};
  return out;
}

Json elapsed_json(const ElapsedSum& sum) {
  Json out = {{"executions", sum.executions},
              {"too_short", sum.too_short},
              {"not_drawn", sum.not_drawn},
              {"ns", sum.elapsed_ns},
              {"worked_ns", sum.worked_ns},
              {"idle_ns", sum.idle_ns()},
              {"idle_share", sum.elapsed_ns > 0 ? sum.idle_ns() / sum.elapsed_ns : 0},
              {"cpu_ns", sum.cpu_ns},
              {"outside", {{"samples", sum.outside.samples}, {"cpu_ns", sum.outside.weight}}}};
  if (sum.added_up > 0) out["added_up"] = sum.added_up;
  return out;
}

Json waits_json(const WaitRow& row) {
  Json out = Json::object();
  for (std::size_t i = 1; i < row.ns_of.size(); ++i) {
    if (row.ns_of[i] > 0) out[std::string(wait_key(static_cast<profile::Wait>(i))) + "_ns"] = row.ns_of[i];
  }
  return out;
}

Json events_json(const WaitRow& row) {
  Json out = Json::object();
  for (const auto& [event, ns] : row.ns_of_event) out[event] = ns;
  return out;
}

// What the operator of a wait works on, which does not change from one execution to the next.
Json attributes_json(const Profile& profile, const WaitRow& row) {
  Json out = Json::array();
  const PlanModel* plan = profile.plan(row.process, row.plan);
  const v1::Component* component = plan == nullptr ? nullptr : plan->component(0, row.operator_id);
  if (component == nullptr) return out;
  for (const v1::Attribute& attribute : component->attributes()) {
    if (!is_figure(attribute.key()))
      out.push_back({{"key", attribute.key()}, {"value", attribute_text(attribute)}});
  }
  return out;
}

Json component_json(const ComponentRow& row, const std::string& own_key) {
  Json out = {{"id", row.id}};
  if (!own_key.empty()) out["key"] = own_key;
  out["name"] = row.name;
  out["kind"] = row.kind;
  if (!row.operators.empty()) out["operators"] = row.operators;
  Json attributes = Json::array();
  for (const auto& [key, value] : row.attributes) attributes.push_back({{"key", key}, {"value", value}});
  if (!attributes.empty()) out["attributes"] = attributes;
  add_cost(out, row.cost);
  return out;
}

Json operator_json(const PlanModel* model, const OperatorRow& row, const std::string& key) {
  Json out = component_json(row, key);
  const v1::Component* component = model == nullptr ? nullptr : model->component(0, row.id);
  out["inputs"] = Json::array();
  if (component != nullptr) {
    for (std::uint32_t input : component->inputs()) out["inputs"].push_back(input);
  }
  out["depth"] = row.depth;
  return out;
}

// Tasks are operators where the plan has one level only.
Json pipeline_json(const PlanModel* model, const PlanPart& part, const PipelineRow& row) {
  Json out = {{"id", row.id},
              {"key", pipeline_key(part.process, part.plan, row.id)},
              {"name", row.name},
              {"depends_on", row.depends_on}};
  add_cost(out, row.cost);
  out["tasks"] = Json::array();
  const bool operators = model != nullptr && task_level(*model) == 0;
  for (const ComponentRow& task : row.tasks) {
    out["tasks"].push_back(component_json(task, operators ? operator_key(part.process, part.plan, task.id)
                                                          : task_key(part.process, part.plan, task.id)));
  }
  return out;
}

// Every key is there, so that a reader need not ask which were.
Json by_link_json(const std::map<profile::Quality, double>& links) {
  using profile::Quality;
  Json out = Json::object();
  for (Quality quality : {Quality::kExact, Quality::kInferred, Quality::kShared, Quality::kPrologue,
                          Quality::kUnmapped, Quality::kTwoNames}) {
    const auto found = links.find(quality);
    out[std::string(term(quality).key)] = found == links.end() ? 0 : found->second;
  }
  return out;
}

// Samples by the rule that attributed them.
Json by_rule_json(const ByRule& rules) {
  Json out = Json::object();
  for (const auto& [how, samples] : rules) out[std::string(term(how).key)] = samples;
  return out;
}

Json named_json(const NamedRow& row) {
  Json out = {{"key", row.key}, {"name", row.name}};
  if (row.process != ProcessId{}) out["process"] = process_json(row.process);
  if (!row.owner.empty()) out["owner"] = row.owner;
  add_cost(out, row.cost);
  return out;
}

Json rows_json(const std::vector<NamedRow>& rows) {
  Json out = Json::array();
  for (const NamedRow& row : rows) out.push_back(named_json(row));
  return out;
}

Json plan_json(const Profile& profile, const PlanReport& report, const PlanPart& part) {
  Json out = {{"process", process_json(part.process)},
              {"plan", part.plan},
              {"plan_key", plan_key(part.process, part.plan)},
              {"name", part.name},
              {"executions", part.executions}};
  if (part.executions_without_sample) out["executions_without_sample"] = *part.executions_without_sample;
  if (const auto p = profile.processes().find(part.process); p != profile.processes().end()) {
    out["cgroup"] = p->second.cgroup;
  }
  add_cost(out, part.cost);
  out["own"] = {{"samples", part.own.samples}, {"weight", part.own.weight}};
  const PlanModel* model = profile.plan(part.process, part.plan);
  out["operators"] = Json::array();
  const auto rules = report.evidence.operators.find({part.process, part.plan});
  for (const OperatorRow& row : part.operators) {
    Json& json = out["operators"].emplace_back(
        operator_json(model, row, operator_key(part.process, part.plan, row.id)));
    json["by"] = Json::object();
    if (rules == report.evidence.operators.end()) continue;
    if (const auto by = rules->second.find(row.id); by != rules->second.end())
      json["by"] = by_rule_json(by->second);
  }
  out["pipelines"] = Json::array();
  for (const PipelineRow& row : part.pipelines) out["pipelines"].push_back(pipeline_json(model, part, row));
  out["unowned"] = rows_json(part.unowned);
  out["beside"] = {{"engine_components", rows_json(part.engine_rows)},
                   {"unattributed", rows_json(part.unattributed_rows)}};
  return out;
}

Json unregistered_json(const UnregisteredCode& code) {
  return {{"process", process_json(code.process)}, {"why", key_of(code.why)},
          {"messages_refused", code.refused},      {"tags", code.tags},
          {"samples", code.cost.samples},          {"weight", code.cost.weight}};
}

Json summary_json(const Profile& profile, const PlanReport& report) {
  Json out;
  out["recording"] = recording_json(profile);
  if (!profile.narrowed_to().empty()) out["only"] = profile.narrowed_to();
  out["source"] = source_json(report.source);
  out["samples"] = report.total.samples;
  out["weight"] = report.total.weight;
  out["effective_samples"] = report.effective_samples;
  if (!report.spread.all_drawn()) out["sample_worth"] = scale_of(report).sample_worth();
  if (report.elapsed) out["elapsed"] = elapsed_json(*report.elapsed);
  out["shares_in_plans_of"] = report.base == Base::kPlan ? "plan" : "everything";
  out["marks_lost"] = {{"records", report.accounting.total.log_lost},
                       {"samples", report.marks_lost.samples},
                       {"weight", report.marks_lost.weight}};
  out["unregistered_code"] = Json::array();
  for (const UnregisteredCode& code : report.unregistered)
    out["unregistered_code"].push_back(unregistered_json(code));
  out["interval"] = report.spread.all_drawn()
                        ? "95 % Wilson score interval on effective_samples"
                        : "95 % Wilson score interval by how much the sampled executions differ";
  out["operators"] = cost_json(report.operators);
  out["engine_components"] = cost_json(report.components);
  out["unattributed"] = cost_json(report.unattributed);
  out["all"] = cost_json(report.all);
  out["component_rows"] = rows_json(report.component_rows);
  out["unattributed_rows"] = rows_json(report.unattributed_rows);
  out["unattributed_places"] = Json::array();
  for (const auto& [place, cost] : report.unattributed_places) {
    Json row = {{"reason", term(place.reason).key}, {"where", place.where}, {"kernel", place.kernel}};
    add_cost(row, cost);
    out["unattributed_places"].push_back(row);
  }
  out["other_sources"] = Json::array();
  for (const auto& [source, total] : report.other_sources) {
    Json other = source_json(source);
    other["samples"] = total.samples;
    other["weight"] = total.weight;
    out["other_sources"].push_back(other);
  }
  if (report.off_cpu) {
    Json& lane = out["off_cpu"] = {{"source", report.off_cpu->source.name},
                                   {"waits", report.off_cpu->total.waits},
                                   {"ns", report.off_cpu->total.ns},
                                   {"by_wait", waits_json(report.off_cpu->total)},
                                   {"by_event", events_json(report.off_cpu->total)},
                                   {"rows", Json::array()}};
    for (const WaitRow& row : report.off_cpu->rows) {
      Json waited = {{"process", process_json(row.process)},
                     {"plan", row.plan},
                     {"operator", row.operator_id},
                     {"name", row.name},
                     {"waits", row.waits},
                     {"ns", row.ns},
                     {"by_wait", waits_json(row)},
                     {"by_event", events_json(row)}};
      if (Json attributes = attributes_json(profile, row); !attributes.empty())
        waited["attributes"] = std::move(attributes);
      lane["rows"].push_back(std::move(waited));
    }
  }
  const Evidence::Window& windows = report.evidence.windows;
  out["by"] = by_rule_json(report.evidence.all);
  out["by_link"] = by_link_json(report.evidence.by_link);
  out["windows"] = {{"samples", windows.samples},
                    {"in_operators", windows.in_operators},
                    {"in_components", windows.in_components},
                    {"unattributed", windows.unattributed}};
  if (report.drawn.executions > 0) out["drawn"] = drawn_json(report.drawn);
  out["accounting"] = accounting_json(report.accounting);
  out["file"] = damage_json(profile);
  return out;
}

std::string_view kind_key(AnnotatedLine::Kind kind) {
  switch (kind) {
    case AnnotatedLine::Kind::kFunction:
      return "function";
    case AnnotatedLine::Kind::kBlock:
      return "block";
    case AnnotatedLine::Kind::kInstruction:
      return "instruction";
    case AnnotatedLine::Kind::kOther:
      return "other";
  }
  return "other";
}

Json line_json(const AnnotatedLine& line) {
  Json out = {{"line", line.number}, {"kind", kind_key(line.kind)}, {"text", line.text}};
  add_cost(out, line.cost);
  if (!line.operators.empty()) out["operators"] = line.operators;
  if (!line.tasks.empty()) out["tasks"] = line.tasks;
  if (!line.operator_keys.empty()) out["operator_keys"] = line.operator_keys;
  if (!line.task_keys.empty()) out["task_keys"] = line.task_keys;
  for (const auto& [name, cost] : line.by_operator) {
    Json part = {{"operator", name}};
    add_cost(part, cost);
    out["by_operator"].push_back(part);
  }
  if (line.hot) out["hot"] = true;
  return out;
}

Json instruction_json(const NativeInstruction& instruction) {
  Json out = {{"offset", instruction.offset},
              {"text", instruction.text},
              {"line", instruction.lines.empty() ? 0 : instruction.lines.front()},
              {"quality", term(instruction.quality).key}};
  if (instruction.lines.size() > 1) out["lines"] = instruction.lines;
  if (!instruction.function.empty()) out["function"] = instruction.function;
  if (instruction.cost.amount.samples > 0) add_cost(out, instruction.cost);
  return out;
}

Json code_json(const NativeCode& code) {
  Json out = {{"code", code.code},
              {"name", code.name},
              {"tier", code.tier},
              {"base", fmt::format("0x{:x}", code.base)},
              {"complete", code.complete}};
  add_cost(out, code.cost);
  if (code.somewhere.amount.samples > 0) out["somewhere"] = cost_json(code.somewhere);
  out["instructions"] = Json::array();
  for (const NativeInstruction& each : code.instructions)
    out["instructions"].push_back(instruction_json(each));
  return out;
}

}  // namespace

Json json_of(const Profile& profile, const PlanReport& report) {
  Json out = summary_json(profile, report);
  out["plans"] = Json::array();
  for (const PlanPart& part : report.plans) out["plans"].push_back(plan_json(profile, report, part));
  return out;
}

Json json_of(const Profile& profile, const LevelReport& report) {
  Json out = summary_json(profile, report.summary);
  out["level"] = report.level;
  out["plans"] = Json::array();
  for (const LevelReport::Part& part : report.plans) {
    Json plan = {{"process", process_json(part.process)},
                 {"plan", part.plan},
                 {"plan_key", plan_key(part.process, part.plan)},
                 {"name", part.name}};
    plan["components"] = Json::array();
    for (const ComponentRow& row : part.rows) plan["components"].push_back(component_json(row, ""));
    plan["unknown"] = cost_json(part.unknown);
    out["plans"].push_back(plan);
  }
  return out;
}

namespace {

Json function_json(const std::string& name, const Function& function) {
  Json out = {{"name", name},
              {"object", function.object},
              {"kind", function_kind_key(function.kind)},
              {"named", !function.name.empty()}};
  if (!function.why.empty()) out["unknown_because"] = function.why;
  if (!function.source.empty()) out["source"] = function.source;
  if (function.begin != 0) out["address"] = fmt::format("{:x}", function.begin);
  return out;
}

Json function_rows_json(const std::vector<FunctionRow>& rows, const profile::Source& event) {
  Json out = Json::array();
  for (const FunctionRow& row : rows) {
    Json json = function_json(row.name, row.function);
    json["event"] = event.name;
    add_cost(json, row.cost);
    json["total"] = cost_json(row.total);
    out.push_back(json);
  }
  return out;
}

}  // namespace

std::string to_json(const Profile& profile, const FunctionReport& report,
                    const std::vector<FunctionReport>& others) {
  Json out = summary_json(profile, report.summary);
  out["level"] = "function";
  out["with_call_chain"] = report.with_chain;
  out["with_whole_call_chain"] = report.whole_chain;
  out["functions"] = function_rows_json(report.functions, report.summary.source);
  for (const FunctionReport& other : others) {
    for (Json& row : function_rows_json(other.functions, other.summary.source))
      out["functions"].push_back(std::move(row));
  }
  out["objects"] = Json::array();
  for (const ObjectRow& row : report.objects) {
    Json json = {{"name", row.name}};
    add_cost(json, row.cost);
    out["objects"].push_back(json);
  }
  out["unnamed_addresses"] = Json::array();
  for (const AddressRow& row : report.unnamed) {
    Json json = {{"name", row.name}, {"path", row.path}};
    add_cost(json, row.cost);
    out["unnamed_addresses"].push_back(json);
  }
  if (report.more_unnamed > 0) {
    out["more_unnamed_addresses"] = {{"addresses", report.more_unnamed}};
    add_cost(out["more_unnamed_addresses"], report.rest_unnamed);
  }
  out["calls"] = Json::array();
  for (const CallRow& row : report.calls) {
    Json json = function_json(row.name, row.function);
    json["depth"] = row.depth;
    add_cost(json, row.cost);
    json["total"] = cost_json(row.total);
    out["calls"].push_back(json);
  }
  return dump(out);
}

std::string to_json(const Profile& profile, const RuleReport& report) {
  Json out = summary_json(profile, report.summary);
  out["engine"] = report.engine;
  out["in_operators"] = cost_json(report.in_operators);
  out["in_phases"] = cost_json(report.in_phases);
  out["unexplained"] = cost_json(report.unexplained);
  out["outside"] = cost_json(report.outside);
  out["operator_rows"] = rows_json(report.operators);
  out["phase_rows"] = rows_json(report.phases);
  out["unexplained_functions"] = function_rows_json(report.unexplained_functions, report.summary.source);
  return dump(out);
}

Json json_of(const Profile& profile, const AnnotateReport& report) {
  Json out = summary_json(profile, report.summary);
  out["process"] = process_json(report.process);
  out["plan"] = report.plan;
  out["plan_key"] = plan_key(report.process, report.plan);
  out["name"] = report.name;
  out["level"] = report.level;
  out["lines"] = Json::array();
  for (const AnnotatedLine& line : report.lines) out["lines"].push_back(line_json(line));
  out["elsewhere"] = Json::array();
  for (const NamedRow& row : report.elsewhere) out["elsewhere"].push_back(named_json(row));
  for (const NativeCode& code : report.machine_code) out["assembly"].push_back(code_json(code));
  return out;
}

Json json_of(const Profile& profile, const MemoryReport& report) {
  Json out;
  out["recording"] = recording_json(profile);
  out["source"] = source_json(report.source);
  out["samples"] = report.total.samples;
  out["weight"] = report.total.weight;
  out["user_samples"] = report.user_samples;
  out["generated_samples"] = report.generated_samples;
  out["addresses"] = {{"recorded", report.recorded},
                      {"decoded", report.decoded},
                      {"lost", report.lost},
                      {"in_regions", report.in_regions},
                      {"in_mappings", report.in_mappings}};
  out["by_skid"] = report.by_skid;
  out["rows"] = Json::array();
  for (const MemoryRow& row : report.rows) {
    Json json = {
        {"process", process_json(row.process)}, {"plan", row.plan},     {"operator", row.operator_id},
        {"operator_name", row.operator_name},   {"region", row.region}, {"region_name", row.region_name}};
    add_cost(json, row.cost);
    json["latency_cycles"] = row.latency;
    json["served_by"] = Json::object();
    for (std::size_t level = 1; level < row.served_by.size(); ++level) {
      if (row.served_by[level] > 0)
        json["served_by"][std::string(term(static_cast<MemoryLevel>(level)).key)] = row.served_by[level];
    }
    out["rows"].push_back(json);
  }
  out["accounting"] = accounting_json(account_of(profile));
  out["file"] = damage_json(profile);
  return out;
}

}  // namespace tailor::query
