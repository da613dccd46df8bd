#include "viewer/cli/render_memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/query/reports/memory_report.h"
#include "daemon/query/sums/terms.h"
#include "viewer/cli/accounting_text.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string part_of(double part, double whole) {
  return percent(whole > 0 ? part / whole : 0);
}

std::string quality(const query::MemoryReport& report) {
  const double addresses = report.recorded + report.decoded;
  std::string out = fmt::format("{} of {} samples have a data address",
                                part_of(addresses, static_cast<double>(report.total.samples)),
                                grouped(report.total.samples));
  if (addresses > 0)
    out += fmt::format(
        ", {} of these in a region that the engine registered, {} known by the process's mappings",
        part_of(report.in_regions, addresses), part_of(report.in_mappings, addresses));
  out += ".";
  if (report.decoded > 0) {
    out += fmt::format(
        " Addresses are computed from the instruction and the registers. Of the {} samples in generated "
        "code {} have lost theirs. The access was that of the instruction before the sampled one for {}, "
        "further back for {}.",
        grouped(static_cast<std::uint64_t>(report.generated_samples)),
        part_of(report.lost, report.generated_samples), part_of(report.by_skid[1], report.decoded),
        part_of(report.decoded - report.by_skid[1], report.decoded));
  }
  return out;
}

}  // namespace

std::string served_by_text(const std::array<double, query::kMemoryLevels>& served_by, double samples) {
  const double known = samples - served_by[0];
  if (known <= 0) return "";
  std::string out;
  for (std::size_t level = 1; level < served_by.size(); ++level) {
    if (served_by[level] <= 0) continue;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ",
                       query::term(static_cast<query::MemoryLevel>(level)).text,
                       part_of(served_by[level], known));
  }
  return out;
}

std::string memory_text(const std::string& name, const std::string& more, std::size_t room,
                        const Terminal& terminal) {
  std::string shown = cut(more.empty() ? name : name + " (" + more + ")", room, terminal.ascii);
  if (!shown.starts_with(name)) return shown;
  return shown == name ? name : name + terminal.dim(shown.substr(name.size()));
}

std::string render(const query::Profile& profile, const query::MemoryReport& report,
                   const Terminal& terminal) {
  const bool latencies = std::ranges::any_of(report.rows, [](const auto& row) { return row.latency > 0; });
  std::size_t width = 8;
  for (const query::MemoryRow& row : report.rows) {
    width = std::max(width, std::min<std::size_t>(row.operator_name.size(), 30));
  }
  const std::size_t used = kShareWidth + kRangeWidth + 2 + (latencies ? 10 : 0) + width + 2;
  const std::size_t room = terminal.width > used + 8 ? terminal.width - used : 8;
  std::string out =
      terminal.bold(pad_left("share", kShareWidth) + pad_left("95 %", kRangeWidth) + "  " +
                    (latencies ? pad_left("cycles", 8) + "  " : "") + pad("operator", width) + "  memory") +
      "\n";
  for (const query::MemoryRow& row : report.rows) {
    std::string line = share_cell(row.cost, terminal) + range_cell(row.cost, terminal) + "  ";
    if (latencies) line += pad_left(row.latency > 0 ? fmt::format("{:.0f}", row.latency) : "", 8) + "  ";
    line += pad(cut(escape_line(row.operator_name, terminal.ascii), width, terminal.ascii), width) + "  ";
    out += line +
           memory_text(escape_line(row.region_name, terminal.ascii),
                       served_by_text(row.served_by, row.cost.amount.samples), room, terminal) +
           "\n";
  }
  out += "\n" + terminal.bold("Measured") + "\n" +
         wrap(source_text(report.source, terminal) + ". " + quality(report) + " " +
                  accounting_text(query::account_of(profile)),
              terminal.width, 2) +
         "\n";
  return out;
}

}  // namespace tailor::cli
