// What a run of a workflow gives, for people and for programs.
#pragma once

#include <string>

#include "compiler/weft/workflow/workflow_run.h"

namespace tailor::weft {

// The contexts that are shown, then a table of iterations for each loop. Of a long context the first rows and
// columns are printed, and how many are not.
std::string outcome_text(const workflow::RunOutcome& outcome);

// All of it, as one JSON object (docs/workflows.md).
std::string outcome_json(const workflow::RunOutcome& outcome, const std::string& name);

}  // namespace tailor::weft
