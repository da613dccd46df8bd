// explain analyze: executes a query and asks tailord what its operators cost.
#pragma once

#include <atomic>

#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/exec/execution.h"
#include "compiler/weft/tool/measured_plan.h"
#include "proto/base/result.h"
#include "proto/control/control_client.h"

namespace tailor::weft {

struct AnalyzeOptions {
  unsigned threads = 1;
  unsigned repeat = 1;
  ExecuteOptions execute;
};

// The daemon that samples this process. Fails, saying what to do, where no daemon runs or it does not know
// this process.
Result<control::ControlClient> sampling_daemon();
// Its report on executions of this process that have ended. Waits until it has attributed everything up to
// their end. Errors: its own.
Result<v1::ReportReply> report_on(control::ControlClient& daemon, const v1::ControlRequest& request);

// `query` counts rows. Waits until the daemon has attributed everything up to the end of the executions.
// Fails, saying what to do, where no daemon runs or it does not know this process, before anything is
// executed; and with the errors of the executions and of the daemon.
Result<MeasuredPlan> explain_analyze(const CompiledQuery& query, const AnalyzeOptions& options);

}  // namespace tailor::weft
