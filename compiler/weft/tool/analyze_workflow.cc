#include "compiler/weft/tool/analyze_workflow.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "compiler/weft/tool/explain_analyze.h"
#include "compiler/weft/workflow/workflow_run.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

constexpr unsigned kMostRuns = 1000;  // a request names no more executions

// CPU time of a task, and its 95 % interval.
struct TaskTime {
  double samples = 0;
  double low_ns = 0, high_ns = 0;
};

std::map<ComponentId, TaskTime> read_tasks(const nlohmann::json& report) {
  std::map<ComponentId, TaskTime> out;
  for (const nlohmann::json& plan : report.at("plans")) {
    for (const nlohmann::json& pipeline : plan.at("pipelines")) {
      for (const nlohmann::json& row : pipeline.at("tasks")) {
        const double share = row.at("share").get<double>();
        if (share <= 0) continue;
        // A share is a part of the plan's own time.
        const double whole = row.at("weight").get<double>() / share;
        TaskTime& time = out[row.at("id").get<ComponentId>()];
        time.samples += row.at("samples").get<double>();
        time.low_ns += whole * row.at("share_low").get<double>();
        time.high_ns += whole * row.at("share_high").get<double>();
      }
    }
  }
  return out;
}

const workflow::UdfUse* use_of(const workflow::ExplainedFunction& function,
                               const std::vector<workflow::UdfUse>& uses) {
  const auto found = std::ranges::find_if(uses, [&](const workflow::UdfUse& each) {
    return each.function == function.function && each.place.line == function.place.line &&
           each.place.column == function.place.column;
  });
  return found == uses.end() ? nullptr : &*found;
}

std::string row_text(const std::string& name, const std::string& predicted, const std::string& measured,
                     const std::string& samples, const std::string& verdict) {
  return fmt::format("{:<32} {:>20} {:>20} {:>9}  {}\n", name, predicted, measured, samples, verdict);
}

std::string interval_text(double low, double high) {
  return fmt::format("{:.2f} to {:.2f}", low, high);
}

}  // namespace

Result<std::string> measured_functions(const std::string& report,
                                       const workflow::WorkflowExplanation& explained,
                                       const std::vector<workflow::UdfUse>& uses,
                                       const std::map<std::uint32_t, std::uint64_t>& tuples,
                                       const workflow::HostSpeed& host) {
  std::map<ComponentId, TaskTime> times;
  try {
    const auto json = nlohmann::json::parse(report);
    if (json.at("source").at("unit").get<std::string>() != "ns_on_cpu")
      return invalid("the daemon does not sample CPU time, and no cycles follow from other events");
    times = read_tasks(json);
  } catch (const nlohmann::json::exception& error) {
    return internal(fmt::format("the daemon's report cannot be read ({}): is the daemon of another version?",
                                error.what()));
  }
  std::string out = "cycles a tuple, predicted and measured (95 % range)\n" +
                    row_text("function", "predicted", "measured", "samples", "verdict");
  for (const workflow::ExplainedFunction& each : explained.functions) {
    const std::string name = fmt::format("{}, line {}", each.function, each.place.line);
    const jit::LoopCycles& cycles = each.predicted.cycles;
    const std::string predicted = cycles.unknown.empty() ? interval_text(cycles.low, cycles.high) : "-";
    const workflow::UdfUse* use = use_of(each, uses);
    const auto read = use == nullptr ? tuples.end() : tuples.find(use->pipeline);
    const auto time = use == nullptr ? times.end() : times.find(use->task);
    if (read == tuples.end() || read->second == 0 || host.cycles_per_ns <= 0) {
      out += row_text(name, predicted, "-", "-", "open: nothing was measured");
      continue;
    }
    if (!use->every_tuple) {
      out += row_text(name, predicted, "-", "-", "open: how many tuples reach it was not counted");
      continue;
    }
    if (time == times.end()) {
      out += row_text(name, predicted, "-", "0", "open: there are too few samples");
      continue;
    }
    const double per_tuple = host.cycles_per_ns / static_cast<double>(read->second);
    const double low = time->second.low_ns * per_tuple, high = time->second.high_ns * per_tuple;
    out += row_text(name, predicted, interval_text(low, high), fmt::format("{:.0f}", time->second.samples),
                    workflow::held_against(each.predicted, each.bound.bound, host, low, high));
  }
  return out;
}

Result<std::string> analyze_workflow(const CommandLine& command, jit::Jit& jit,
                                     const std::atomic<bool>& cancel,
                                     const workflow::WorkflowExplanation& explained,
                                     const workflow::HostSpeed& host, workflow::Workflow flow,
                                     std::vector<workflow::UdfImage> images,
                                     const workflow::WorkflowFiles& files) {
  if (command.repeat > kMostRuns)
    return invalid(fmt::format("explain analyze: --repeat may be {} at most", kMostRuns));
  auto daemon = sampling_daemon();
  if (!daemon.ok()) return std::move(daemon).error();
  workflow::WorkflowSettings settings;
  settings.level = command.level;
  settings.tags = command.tags;
  auto compiled = workflow::CompiledWorkflow::make(std::move(flow), std::move(images), jit, settings);
  if (!compiled.ok()) return std::move(compiled).error();
  WorkerPool pool(command.threads, (*compiled)->tag_strategy());
  const workflow::RunOptions options{command.memory_limit, &cancel, command.labels};
  std::map<std::uint32_t, std::uint64_t> tuples;
  v1::ControlRequest request;
  for (unsigned run = 0; run < command.repeat; ++run) {
    auto outcome = workflow::run_workflow(**compiled, files, pool, options);
    if (!outcome.ok()) return std::move(outcome).error();
    request.mutable_report()->add_executions(outcome->id.data(), outcome->id.size());
    for (const auto& [pipeline, count] : outcome->tuples) tuples[pipeline] += count;
  }
  auto reply = report_on(*daemon, request);
  if (!reply.ok()) return std::move(reply).error();
  if (reply->samples() == 0) return std::string("no sample was taken: --repeat N runs N times\n");
  return measured_functions(reply->json(), explained, (*compiled)->program().udf_uses, tuples, host);
}

}  // namespace tailor::weft
