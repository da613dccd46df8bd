// From a workflow to generated code: operators to their users' functions, and these to LLVM IR, in one loop a
// pipeline (Tupleware, section 5.1.1, "Pipeline"; Tailored Profiling, section 5.1, for the links that are
// kept).
#pragma once

#include "compiler/llvm/query_module.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/weft/workflow/udf_library.h"
#include "compiler/weft/workflow/workflow.h"
#include "compiler/weft/workflow/workflow_program.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// `dictionary` has the levels operator, udf, ir and no components yet. The level "udf" has a component for
// each use of a user's function (kind "udf"), and one for the operator's own code around it ("operator
// code"). `library` has passed check_udfs(); its context is that of `module`. The module is sealed by the
// caller. Errors, with file and line: a constant that does not fit its parameter, a pipeline that needs too
// much stack.
Result<WorkflowProgram> lower_workflow(const Workflow& workflow, const UdfLibrary& library,
                                       tagging::DictionaryBuilder& dictionary, jit::QueryModule& module);

}  // namespace tailor::weft::workflow
