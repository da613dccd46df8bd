// Cells of tables that show a share of the whole, and how wide they are.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/query/reports/plan_report.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

inline constexpr std::size_t kShareWidth = 8;
inline constexpr std::size_t kRangeWidth = 13;
inline constexpr std::size_t kLeastSamplesWidth = 9;

// "12.3 %" right-aligned in kShareWidth columns, bold if large, dim if next to nothing.
std::string share_cell(const query::Share95& cost, const Terminal& terminal);
// "11.0–13.7 %" right-aligned in kRangeWidth columns.
std::string range_cell(const query::Share95& cost, const Terminal& terminal);

}  // namespace tailor::cli
