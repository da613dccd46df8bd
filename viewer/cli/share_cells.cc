#include "viewer/cli/share_cells.h"

#include <fmt/format.h>

#include "viewer/cli/text.h"

namespace tailor::cli {

std::string share_cell(const query::Share95& cost, const Terminal& terminal) {
  const std::string cell = pad_left(percent(cost.share), kShareWidth);
  if (cost.share >= 0.1) return terminal.bold(cell);
  return cost.share < 0.005 ? terminal.dim(cell) : cell;
}

std::string range_cell(const query::Share95& cost, const Terminal& terminal) {
  const std::string range =
      fmt::format("{:.1f}{}{:.1f} %", 100 * cost.interval.low, terminal.dash(), 100 * cost.interval.high);
  // "100.0–100.0 %" would touch what stands before it, and says no more than one of its ends.
  const bool fits = columns(range) < kRangeWidth;
  return terminal.dim(
      pad_left(fits ? range : fmt::format("{:.1f} %", 100 * cost.interval.high), kRangeWidth));
}

}  // namespace tailor::cli
