// explain analyze: executes a query and asks tailord what its operators cost.
#pragma once

#include <atomic>

#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/exec/execution.h"
#include "compiler/weft/tool/measured_plan.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct AnalyzeOptions {
  unsigned threads = 1;
  unsigned repeat = 1;
  ExecuteOptions execute;
};

// `query` counts rows. Waits until the daemon has attributed everything up to the end of the executions.
// Fails, saying what to do, where no daemon runs or it does not know this process, before anything is
// executed; and with the errors of the executions and of the daemon.
Result<MeasuredPlan> explain_analyze(const CompiledQuery& query, const AnalyzeOptions& options);

}  // namespace tailor::weft
