// The columns of costs that tables of reports have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "daemon/query/load/profile.h"
#include "daemon/query/reports/cost_columns.h"
#include "daemon/query/reports/plan_report.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Share, range, samples, of elapsed time the threads and their skew, and where there is room the columns of
// cost_columns() and a bar; then whatever the table is of. Everything passed to the constructor must outlive
// it.
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
  std::string threads_cell(const query::Share95& cost) const;
  std::string skew_cell(const query::Share95& cost) const;
  std::string wide_cell(const query::CostColumn& column, const query::Share95& cost) const;

  const Terminal& terminal_;
  bool kernel_sampled_;
  std::size_t threads_width_;  // 0: not of elapsed time
  std::size_t skew_width_;     // the same
  std::size_t samples_width_;
};

}  // namespace tailor::cli
