// The columns of costs that tables of reports have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/cost_columns.h"
#include "daemon/query/reports/plan_report.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Share, range, samples, and where there is room the columns of cost_columns() and a bar; then whatever the
// table is of. Everything passed to the constructor must outlive it.
class CostTable {
 public:
  // Where no sample was taken in kernel mode, the column of the kernel says so.
  CostTable(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal);

  const Terminal& terminal() const { return terminal_; }
  // For what follows the columns.
  std::size_t room() const;
  // `last`: the heading of what follows.
  std::string heading(std::string_view last) const;
  std::string cells(const query::Share95& cost) const;
  // A whole line; `name` is as it came from outside.
  std::string line(const query::Share95& cost, std::string_view name) const;
  // The same of what no sample stands for.
  std::string line_of_share(double share, std::string_view name) const;

 private:
  std::size_t width() const;
  std::string cell(const query::CostColumn& column, const query::Share95& cost) const;
  std::string part_cell(const query::CostColumn& column, const query::Share95& cost, double weight) const;

  const Terminal& terminal_;
  bool kernel_sampled_;
  std::vector<const query::CostColumn*> columns_;  // those of the report for which there is room
  std::size_t samples_width_;
};

}  // namespace tailor::cli
