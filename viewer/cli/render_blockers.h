// Who held the locks that an execution waited for.
#pragma once

#include <string>

#include "daemon/query/load/profile.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// A tree with times since the begin of the execution: below each holder those that it waited for meanwhile.
// "" where nobody was seen to hold it up.
std::string blockers_section(const query::Profile& profile, const profile::ExecutionRecord& execution,
                             const Terminal& terminal);

}  // namespace tailor::cli
