// Operators + engine components + unattributed = everything in a report.
#include <fmt/format.h>

#include "daemon/query/sums/terms.h"
#include "viewer/cli/cost_table.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

// The parts of a class, those worth a line.
std::string rows_lines(const std::vector<query::NamedRow>& rows, const CostTable& table) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < rows.size() && i < kMost; ++i) {
    const Terminal& terminal = table.terminal();
    out += table.cells(rows[i].cost) + "  " +
           cut(escape_line(rows[i].name, terminal.ascii), table.room() - 2, terminal.ascii) + "\n";
  }
  if (rows.size() > kMost)
    out += table.terminal().dim(fmt::format("          and {} more (--json)", rows.size() - kMost)) + "\n";
  return out;
}

// The functions in which nobody's samples are, those worth a line.
std::string places_lines(const query::PlanReport& report, const Terminal& terminal) {
  constexpr std::size_t kMost = 5;
  constexpr double kLeastShare = 0.0005;
  std::string out;
  for (std::size_t i = 0; i < report.unattributed_places.size() && i < kMost; ++i) {
    const auto& [place, cost] = report.unattributed_places[i];
    if (cost.share < kLeastShare) break;
    const std::string line =
        fmt::format("{}  in {}{}: {}", pad_left(percent(cost.share), kShareWidth),
                    place.kernel ? "the kernel, from " : "", escape_line(place.where, terminal.ascii),
                    query::term(place.reason).text);
    out += terminal.dim(cut("    " + line, terminal.width, terminal.ascii)) + "\n";
  }
  return out;
}

}  // namespace

std::string sum_section(const query::PlanReport& report, const CostTable& table) {
  const Terminal& terminal = table.terminal();
  std::string out = terminal.bold(cut(fmt::format("Everything in this report: {} in {}",
                                                  weight_text(report.total.weight, report),
                                                  samples_text(static_cast<double>(report.total.samples))),
                                      terminal.width, terminal.ascii)) +
                    "\n";
  out += table.heading("whose");
  out += table.line(report.operators, "operators");
  out += table.line(report.components, "engine components") + rows_lines(report.component_rows, table);
  out += table.line(report.unattributed, "unattributed") + rows_lines(report.unattributed_rows, table) +
         places_lines(report, terminal);
  if (!report.elapsed) return out + table.line(report.all, "= everything");
  const double idle = report.elapsed->idle_ns();
  return out + table.line(report.all, "= a thread worked") +
         table.line_of_share(report.total.weight > 0 ? idle / report.total.weight : 0,
                             fmt::format("no thread worked, or none was sampled: {}", duration(idle)));
}

}  // namespace tailor::cli
