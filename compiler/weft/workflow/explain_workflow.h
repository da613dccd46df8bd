// `weft explain --workflow`: what weft makes of a workflow, and why.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/weft/workflow/host_speed.h"
#include "compiler/weft/workflow/udf_analyser.h"
#include "compiler/weft/workflow/udf_bound.h"
#include "compiler/weft/workflow/udf_library.h"
#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// A function that is called for tuples.
struct ExplainedFunction {
  std::string function;
  Place place;  // of the call
  UdfVerdict predicted;
  BoundVerdict bound;
};

struct WorkflowExplanation {
  std::string text;
  std::vector<ExplainedFunction> functions;  // in the order of the text
};

// Inputs, contexts and the plan; for each function what its code does, what LLVM predicts of it, and what
// bounds it; for each pipeline its strategy with the reason. `threads`: workers of a run. Errors: those of
// UdfLibrary::load() and of check_udfs(); LLVM does not know this host.
Result<WorkflowExplanation> explain_workflow(const Workflow& workflow, std::span<const UdfImage> images,
                                             unsigned threads, const HostSpeed& host);

}  // namespace tailor::weft::workflow
