#include "compiler/weft/tool/explain_analyze.h"

#include <fmt/format.h>
#include <tailor/agent.h>
#include <unistd.h>

#include <chrono>

#include "proto/base/errors.h"
#include "proto/control/paths.h"

namespace tailor::weft {
namespace {

constexpr std::uint32_t kBarrierMs = 2000;
constexpr std::chrono::seconds kReport{60};

// What the daemon at the control socket says of this process: nothing if it samples it, else what is wrong.
Status check_sampled(control::ControlClient& daemon) {
  if (tailor_agent_barrier(kBarrierMs) == 1) return Ok{};
  v1::ControlRequest request;
  request.mutable_status();
  auto reply = daemon.ask(request);
  if (!reply.ok()) return reply.error();
  for (const v1::ProcessStatus& process : reply->status().processes()) {
    if (process.info().process().pid() != ::getpid() || !process.info().is_registered()) continue;
    if (process.sampled()) return Ok{};
    return unavailable(fmt::format("explain analyze: the daemon does not sample this process: {}",
                                   process.not_sampled_because()));
  }
  return unavailable(
      fmt::format("explain analyze: this process has not registered with the daemon, which listens for "
                  "engines at {} (TAILOR_SOCKET names another socket, TAILOR_DISABLE=1 switches "
                  "registration off)",
                  reply->status().agent_socket()));
}

}  // namespace

Result<control::ControlClient> sampling_daemon() {
  auto daemon = control::ControlClient::connect_first(control::control_socket_places());
  if (!daemon.ok()) return in_context("explain analyze: ", daemon.error());
  if (Status sampled = check_sampled(*daemon); !sampled.ok()) return std::move(sampled).error();
  return daemon;
}

Result<v1::ReportReply> report_on(control::ControlClient& daemon, const v1::ControlRequest& request) {
  // Everything this process said of the executions is with the daemon before it is asked.
  tailor_agent_barrier(kBarrierMs);
  auto reply = daemon.ask(request, kReport);
  if (!reply.ok()) return in_context("explain analyze: ", reply.error());
  return reply->report();
}

Result<MeasuredPlan> explain_analyze(const CompiledQuery& query, const AnalyzeOptions& options) {
  auto daemon = sampling_daemon();
  if (!daemon.ok()) return std::move(daemon).error();
  v1::ControlRequest request;
  std::vector<std::uint64_t> rows(query.plan().operator_count + 1, 0);
  MeasuredPlan sums;
  WorkerPool pool(options.threads);
  for (unsigned run = 0; run < options.repeat; ++run) {
    Result<ExecutionOutcome> outcome = execute(query, pool, options.execute);
    if (!outcome.ok()) return std::move(outcome).error();
    request.mutable_report()->add_executions(outcome->id.data(), outcome->id.size());
    for (std::size_t id = 0; id < rows.size(); ++id) rows[id] += outcome->operator_rows[id];
    ++sums.executions;
    sums.wall_ns += outcome->wall_ns;
    sums.cpu_ns += outcome->cpu_ns;
    sums.result_rows = outcome->result.rows;
  }
  auto reply = report_on(*daemon, request);
  if (!reply.ok()) return std::move(reply).error();
  MeasuredPlan plan = describe_plan(query.plan(), rows);
  plan.executions = sums.executions;
  plan.wall_ns = sums.wall_ns;
  plan.cpu_ns = sums.cpu_ns;
  plan.result_rows = sums.result_rows;
  if (reply->samples() == 0) return plan;
  if (Status read = add_report(reply->json(), plan); !read.ok()) return std::move(read).error();
  return plan;
}

}  // namespace tailor::weft
