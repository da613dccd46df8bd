// What plans move between a cache and memory as text for people.
#pragma once

#include <string>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/bounds_report.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

std::string render(const query::Profile& profile, const query::BoundsReport& report,
                   const Terminal& terminal);

}  // namespace tailor::cli
