// What keeps functions of a recording from having names.
#pragma once

#include <vector>

#include "daemon/query/reports/function_report.h"
#include "viewer/cli/doctor.h"

namespace tailor::cli {

// One finding for each reason, the most expensive first. Reasons that concern less than a hundredth of the
// samples are left out; if no other is there, the only finding says that it is fine.
std::vector<Finding> look_at_names(const query::FunctionReport& report);

}  // namespace tailor::cli
