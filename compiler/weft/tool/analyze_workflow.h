// `weft explain --workflow --analyze`: runs a workflow, asks tailord what its functions cost, and holds the
// verdicts on them against it.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/weft/tool/command_line.h"
#include "compiler/weft/workflow/explain_workflow.h"
#include "compiler/weft/workflow/workflow_files.h"
#include "compiler/weft/workflow/workflow_program.h"
#include "proto/base/result.h"

namespace tailor::weft {

// A table of the functions: cycles of a tuple as predicted and as measured. `report` is one of tailord
// (docs/report-json.md) on runs in which the pipelines read `tuples`, by their numbers. Errors: it is none.
Result<std::string> measured_functions(const std::string& report,
                                       const workflow::WorkflowExplanation& explained,
                                       const std::vector<workflow::UdfUse>& uses,
                                       const std::map<std::uint32_t, std::uint64_t>& tuples,
                                       const workflow::HostSpeed& host);

// Runs the workflow as often as the command line says, 1000 times at most, and makes that table. Waits until
// the daemon has attributed everything up to the end of the runs. Errors: no daemon samples this process;
// those of the workflow and of the daemon.
Result<std::string> analyze_workflow(const CommandLine& command, jit::Jit& jit,
                                     const std::atomic<bool>& cancel,
                                     const workflow::WorkflowExplanation& explained,
                                     const workflow::HostSpeed& host, workflow::Workflow flow,
                                     std::vector<workflow::UdfImage> images,
                                     const workflow::WorkflowFiles& files);

}  // namespace tailor::weft
