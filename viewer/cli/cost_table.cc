#include "viewer/cli/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kNarrowTable = 90;      // below it bars go
constexpr std::size_t kVeryNarrowTable = 60;  // below it the range goes too: names need the room

std::vector<const query::CostColumn*> columns_for(const query::PlanReport& report, const Terminal& terminal) {
  std::vector<const query::CostColumn*> out;
  for (const query::CostColumn& column : query::cost_columns()) {
    if (column.text.shown == query::CostColumn::Shown::kNot || terminal.width < column.text.room) continue;
    if (column.of == query::CostColumn::Of::kAll || report.elapsed) out.push_back(&column);
  }
  std::ranges::stable_sort(out, {}, [](const query::CostColumn* column) { return column->text.room; });
  return out;
}

}  // namespace

CostTable::CostTable(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal)
    : terminal_(terminal),
      kernel_sampled_(!profile.recording().kernel_not_sampled || report.all.amount.kernel > 0),
      columns_(columns_for(report, terminal)),
      samples_width_(number_width(static_cast<double>(report.total.samples), kLeastSamplesWidth)) {}

std::size_t CostTable::width() const {
  const std::size_t range = terminal_.width < kVeryNarrowTable ? 0 : kRangeWidth;
  std::size_t out = kShareWidth + range + samples_width_ + 2;
  for (const query::CostColumn* column : columns_) out += column->text.width;
  return terminal_.width < kNarrowTable ? out : out + 2 + kBarWidth;
}

std::size_t CostTable::room() const {
  return terminal_.width - std::min(terminal_.width - 20, width());
}

std::string CostTable::heading(std::string_view last) const {
  std::string out = pad_left("share", kShareWidth) +
                    (terminal_.width < kVeryNarrowTable ? "" : pad_left("95 % range", kRangeWidth)) +
                    pad_left("samples", samples_width_);
  for (const query::CostColumn* column : columns_) out += pad_left(column->text.heading, column->text.width);
  if (terminal_.width >= kNarrowTable) out += std::string(2 + kBarWidth, ' ');
  out += "  ";
  const std::size_t left = terminal_.width - std::min(terminal_.width, columns(out));
  return terminal_.dim(out + cut(last, left, terminal_.ascii)) + "\n";
}

std::string CostTable::cells(const query::Share95& cost) const {
  const auto samples = static_cast<std::uint64_t>(std::llround(cost.amount.samples));
  std::string out = share_cell(cost, terminal_) +
                    (terminal_.width < kVeryNarrowTable ? "" : range_cell(cost, terminal_)) +
                    terminal_.dim(pad_left(grouped(samples), samples_width_));
  for (const query::CostColumn* column : columns_) out += cell(*column, cost);
  if (terminal_.width < kNarrowTable) return out + "  ";
  return out + "  " + terminal_.bar_colour(terminal_.bar(cost.share, kBarWidth)) + "  ";
}

std::string CostTable::line_of_share(double share, std::string_view name) const {
  query::Share95 cost;
  cost.share = share;
  return share_cell(cost, terminal_) + std::string(std::max(width(), kShareWidth) - kShareWidth, ' ') +
         cut(escape_line(name, terminal_.ascii), room(), terminal_.ascii) + "\n";
}

std::string CostTable::cell(const query::CostColumn& column, const query::Share95& cost) const {
  const auto value = column.value(cost);
  if (!value) return std::string(column.text.width, ' ');
  if (column.text.shown == query::CostColumn::Shown::kPart) return part_cell(column, cost, *value);
  const bool by_chance = column.text.by_chance != nullptr && column.text.by_chance(cost);
  return pad_left(by_chance ? "-" : fmt::format("{:.1f}", *value), column.text.width);
}

std::string CostTable::part_cell(const query::CostColumn& column, const query::Share95& cost,
                                 double weight) const {
  const double part = cost.amount.weight > 0 ? cost.share * weight / cost.amount.weight : 0;
  const bool known = kernel_sampled_ || !column.text.of_kernel;
  const std::string cell = pad_left(known ? percent(part) : "?", column.text.width);
  return part > 0 ? cell : terminal_.dim(cell);
}

std::string CostTable::line(const query::Share95& cost, std::string_view name) const {
  return cells(cost) + cut(escape_line(name, terminal_.ascii), room(), terminal_.ascii) + "\n";
}

}  // namespace tailor::cli
