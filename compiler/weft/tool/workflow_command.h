// `weft workflow`, `weft workflow compile` and `weft explain --workflow`.
#pragma once

#include <atomic>

#include "compiler/weft/tool/run.h"
#include "proto/base/result.h"

namespace tailor::weft {

// Runs the workflow of the command line as often as asked for, prints what the first run shows, and adds
// times to `timings`. `jit` knows the runtime of workflows. Errors: those of the workflow; options that are
// for queries only.
Status run_workflow_command(const CommandLine& command, jit::Jit& jit, CodeNames& names,
                            const std::atomic<bool>& cancel, Timings& timings);

// Writes the workflow with its functions as bitcode into the folder of the command line.
Status compile_workflow_command(const CommandLine& command);

// Prints what weft makes of it.
Status explain_workflow_command(const CommandLine& command);
// The same, then runs it and prints what its functions cost beside what was predicted.
Status analyze_workflow_command(const CommandLine& command, jit::Jit& jit, const std::atomic<bool>& cancel);
// Compiles it, and prints all levels as levels_json() does: tasks are users' functions and the code around
// them.
Status explain_workflow_levels(const CommandLine& command, jit::Jit& jit);

}  // namespace tailor::weft
