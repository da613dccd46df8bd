// Reads a workflow file (docs/workflows.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "compiler/weft/workflow/workflow.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

// Values that a user gives to constants of the file, in place of those of its `let`.
using Settings = std::map<std::string, std::int64_t>;

// `file` is the name for errors. Errors, each with file, line and column: a word that is not expected there,
// a name that nothing has or that two things have, a type or a shape that does not fit, a limit that is
// passed, a setting of a constant that the file does not have.
Result<Workflow> parse_workflow(const std::string& text, const std::string& file, const Settings& settings);

}  // namespace tailor::weft::workflow
