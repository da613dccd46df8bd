// A filter of executions as a sentence has it.
#pragma once

#include <string>

#include "daemon/serve/execution_filter.h"

namespace tailor::serve {

// For an empty answer: what was asked for, as in "began at 2026-01-31T14:00:00.000+01:00 or later and
// is of process 12"; "" for everything.
std::string filter_text(const ExecutionFilter& filter);

}  // namespace tailor::serve
