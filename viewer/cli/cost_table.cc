#include "viewer/cli/cost_table.h"

#include <algorithm>
#include <cmath>

#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kKernelWidth = 9;
constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kNarrowTable = 90;      // below it bars and the kernel column go
constexpr std::size_t kVeryNarrowTable = 60;  // below it the range goes too: names need the room

}  // namespace

CostTable::CostTable(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal)
    : terminal_(terminal),
      kernel_sampled_(!profile.recording().kernel_not_sampled || report.all.amount.kernel > 0),
      samples_width_(number_width(static_cast<double>(report.total.samples), kLeastSamplesWidth)) {}

std::size_t CostTable::width() const {
  const std::size_t range = terminal_.width < kVeryNarrowTable ? 0 : kRangeWidth;
  const std::size_t narrow = kShareWidth + range + samples_width_ + 2;
  return terminal_.width < kNarrowTable ? narrow : narrow + kKernelWidth + kBarWidth + 2;
}

std::size_t CostTable::room() const {
  return terminal_.width - std::min(terminal_.width - 20, width());
}

std::string CostTable::heading(std::string_view last) const {
  std::string out = pad_left("share", kShareWidth) +
                    (terminal_.width < kVeryNarrowTable ? "" : pad_left("95 % range", kRangeWidth)) +
                    pad_left("samples", samples_width_);
  if (terminal_.width >= kNarrowTable)
    out += pad_left("kernel", kKernelWidth) + std::string(2 + kBarWidth, ' ');
  out += "  ";
  const std::size_t left = terminal_.width - std::min(terminal_.width, columns(out));
  return terminal_.dim(out + cut(last, left, terminal_.ascii)) + "\n";
}

std::string CostTable::cells(const query::Share95& cost) const {
  const auto samples = static_cast<std::uint64_t>(std::llround(cost.amount.samples));
  std::string out = share_cell(cost, terminal_) +
                    (terminal_.width < kVeryNarrowTable ? "" : range_cell(cost, terminal_)) +
                    terminal_.dim(pad_left(grouped(samples), samples_width_));
  if (terminal_.width < kNarrowTable) return out + "  ";
  const double kernel = cost.amount.weight > 0 ? cost.share * cost.amount.kernel / cost.amount.weight : 0;
  const std::string kernel_cell = pad_left(kernel_sampled_ ? percent(kernel) : "?", kKernelWidth);
  out += kernel > 0 ? kernel_cell : terminal_.dim(kernel_cell);
  return out + "  " + terminal_.bar_colour(terminal_.bar(cost.share, kBarWidth)) + "  ";
}

std::string CostTable::line(const query::Share95& cost, std::string_view name) const {
  return cells(cost) + cut(escape_line(name, terminal_.ascii), room(), terminal_.ascii) + "\n";
}

}  // namespace tailor::cli
