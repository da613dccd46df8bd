// What reports say of a cost: one table, for JSON (docs/report-json.md) and for text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

// Of weights that are a part of the row's weight, text shows the share of the whole.
struct CostColumn {
  std::string_view key;             // in JSON
  double (*value)(const Share95&);  // as JSON has it
  std::string_view heading = {};    // of its column in text; empty: in JSON alone
  std::size_t width = 0;            // of that column
  bool of_kernel = false;           // not known where no sample was taken in kernel mode
};

// In the order in which they are shown. Beside them, text has the share with its range, and the samples.
std::span<const CostColumn> cost_columns();

// Where weights are elapsed time: how many threads worked on average while one worked for the row. Nothing
// elsewhere, and of a row without samples.
std::optional<double> threads_of(const Amount& amount);

}  // namespace tailor::query
