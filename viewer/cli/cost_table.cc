#include "viewer/cli/cost_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kThreadsWidth = 8;
constexpr std::size_t kSkewWidth = 6;
constexpr std::size_t kNarrowTable = 90;      // below it bars and the columns beside them go
constexpr std::size_t kNarrowForSkew = 70;    // below it that column goes
constexpr std::size_t kVeryNarrowTable = 60;  // below it the range goes too: names need the room

// Where there is room.
std::size_t wide_columns() {
  std::size_t width = 2 + kBarWidth;
  for (const query::CostColumn& column : query::cost_columns()) width += column.width;
  return width;
}

}  // namespace

CostTable::CostTable(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal)
    : terminal_(terminal),
      kernel_sampled_(!profile.recording().kernel_not_sampled || report.all.amount.kernel > 0),
      threads_width_(report.elapsed && terminal.width >= kVeryNarrowTable ? kThreadsWidth : 0),
      skew_width_(report.elapsed && terminal.width >= kNarrowForSkew ? kSkewWidth : 0),
      samples_width_(number_width(static_cast<double>(report.total.samples), kLeastSamplesWidth)) {}

std::size_t CostTable::width() const {
  const std::size_t range = terminal_.width < kVeryNarrowTable ? 0 : kRangeWidth;
  const std::size_t narrow = kShareWidth + range + samples_width_ + threads_width_ + skew_width_ + 2;
  return terminal_.width < kNarrowTable ? narrow : narrow + wide_columns();
}

std::size_t CostTable::room() const {
  return terminal_.width - std::min(terminal_.width - 20, width());
}

std::string CostTable::heading(std::string_view last) const {
  std::string out = pad_left("share", kShareWidth) +
                    (terminal_.width < kVeryNarrowTable ? "" : pad_left("95 % range", kRangeWidth)) +
                    pad_left("samples", samples_width_) +
                    (threads_width_ == 0 ? "" : pad_left("threads", threads_width_)) +
                    (skew_width_ == 0 ? "" : pad_left("skew", skew_width_));
  if (terminal_.width >= kNarrowTable) {
    for (const query::CostColumn& column : query::cost_columns())
      out += pad_left(column.heading, column.width);
    out += std::string(2 + kBarWidth, ' ');
  }
  out += "  ";
  const std::size_t left = terminal_.width - std::min(terminal_.width, columns(out));
  return terminal_.dim(out + cut(last, left, terminal_.ascii)) + "\n";
}

std::string CostTable::cells(const query::Share95& cost) const {
  const auto samples = static_cast<std::uint64_t>(std::llround(cost.amount.samples));
  std::string out =
      share_cell(cost, terminal_) + (terminal_.width < kVeryNarrowTable ? "" : range_cell(cost, terminal_)) +
      terminal_.dim(pad_left(grouped(samples), samples_width_)) + threads_cell(cost) + skew_cell(cost);
  if (terminal_.width < kNarrowTable) return out + "  ";
  for (const query::CostColumn& column : query::cost_columns()) out += wide_cell(column, cost);
  return out + "  " + terminal_.bar_colour(terminal_.bar(cost.share, kBarWidth)) + "  ";
}

std::string CostTable::threads_cell(const query::Share95& cost) const {
  if (threads_width_ == 0) return "";
  const auto threads = query::threads_of(cost.amount);
  return pad_left(threads ? fmt::format("{:.1f}", *threads) : "", threads_width_);
}

std::string CostTable::skew_cell(const query::Share95& cost) const {
  if (skew_width_ == 0) return "";
  if (!cost.skew) return std::string(skew_width_, ' ');
  return pad_left(cost.skew->low() > 1 ? fmt::format("{:.1f}", cost.skew->value()) : "-", skew_width_);
}

std::string CostTable::line_of_share(double share, std::string_view name) const {
  query::Share95 cost;
  cost.share = share;
  return share_cell(cost, terminal_) + std::string(std::max(width(), kShareWidth) - kShareWidth, ' ') +
         cut(escape_line(name, terminal_.ascii), room(), terminal_.ascii) + "\n";
}

std::string CostTable::wide_cell(const query::CostColumn& column, const query::Share95& cost) const {
  if (column.heading.empty()) return "";
  const double part = cost.amount.weight > 0 ? cost.share * column.value(cost) / cost.amount.weight : 0;
  const bool known = kernel_sampled_ || !column.of_kernel;
  const std::string cell = pad_left(known ? percent(part) : "?", column.width);
  return part > 0 ? cell : terminal_.dim(cell);
}

std::string CostTable::line(const query::Share95& cost, std::string_view name) const {
  return cells(cost) + cut(escape_line(name, terminal_.ascii), room(), terminal_.ascii) + "\n";
}

}  // namespace tailor::cli
