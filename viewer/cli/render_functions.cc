#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "viewer/cli/render.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"
#include "viewer/cli/tree_lines.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kMostObjects = 10, kMostAddresses = 10;
constexpr std::size_t kNameRoom = 40;  // of the function, before its object
constexpr std::size_t kNarrowFunctions =
    70;  // below it ranges go, and samples beside totals: names need the room
constexpr std::size_t kRangeBeside = kRangeWidth + 1;

std::size_t samples_width(const query::PlanReport& summary) {
  return number_width(static_cast<double>(summary.total.samples), kLeastSamplesWidth);
}

std::string samples_cell(const query::Share95& cost, std::size_t width, const Terminal& terminal) {
  const auto samples = static_cast<std::uint64_t>(std::llround(cost.amount.samples));
  return terminal.dim(pad_left(grouped(samples), width));
}

std::string rest_of_line(const std::string& line, const std::string& text, const Terminal& terminal) {
  const std::size_t used = columns(line);
  return line + cut(text, terminal.width > used + 10 ? terminal.width - used : 10, terminal.ascii) + "\n";
}

// Of what has no name, why.
std::string object_text(const query::Function& function, const Terminal& terminal) {
  std::string text = function.object;
  if (!function.why.empty()) text += (text.empty() ? "" : ": ") + function.why;
  return text.empty() ? "" : "  (" + escape_line(text, terminal.ascii) + ")";
}

// Room for the object behind a name that is too long for both.
std::string function_text(const std::string& name, const query::Function& function, std::size_t room,
                          const Terminal& terminal) {
  const std::string object = object_text(function, terminal);
  const std::string shown = escape_line(name, terminal.ascii);
  if (columns(shown) + columns(object) <= room) return shown + object;
  // Why it has no name is said as far as there is room.
  if (function.name.empty()) return cut(shown + object, room, terminal.ascii);
  const std::size_t left = room > kNameRoom + columns(object) ? room - columns(object) : room;
  return cut(shown, left, terminal.ascii) + (left < room ? object : "");
}

std::string functions_section(const query::FunctionReport& report, const FunctionView& view,
                              const Terminal& terminal) {
  const bool totals = !report.calls.empty();
  const std::size_t samples = samples_width(report.summary);
  const bool ranges = terminal.width >= kNarrowFunctions, counts = ranges || !totals;
  const std::size_t left =
      kShareWidth + (ranges ? kRangeBeside : 0) + (totals ? kShareWidth : 0) + (counts ? samples : 0) + 2;
  std::string out =
      terminal.dim(pad_left("self", kShareWidth) + (ranges ? pad_left("95 % range", kRangeBeside) : "") +
                   (totals ? pad_left("total", kShareWidth) : "") +
                   (counts ? pad_left("samples", samples) : "") + "  function") +
      "\n";
  std::size_t shown = 0;
  double rest = 0;
  std::size_t hidden = 0;
  for (const query::FunctionRow& row : report.functions) {
    if (shown == view.limit) {
      rest += row.cost.share;
      ++hidden;
      continue;
    }
    ++shown;
    std::string line = share_cell(row.cost, terminal);
    if (ranges) line += " " + range_cell(row.cost, terminal);
    if (totals) line += share_cell(row.total, terminal);
    if (counts) line += samples_cell(row.cost, samples, terminal);
    line += "  ";
    const std::size_t room = terminal.width > left + 20 ? terminal.width - left : 20;
    out += line + function_text(row.name, row.function, room, terminal) + "\n";
  }
  if (hidden > 0) {
    out += terminal.dim(fmt::format("{}  in {} more functions (--limit)",
                                    pad_left(percent(rest), kShareWidth), grouped(hidden))) +
           "\n";
  }
  return out;
}

std::string objects_section(const query::FunctionReport& report, const Terminal& terminal) {
  std::string out = terminal.dim(pad_left("self", kShareWidth) + "  library") + "\n";
  for (std::size_t i = 0; i < report.objects.size() && i < kMostObjects; ++i) {
    const query::ObjectRow& row = report.objects[i];
    out +=
        rest_of_line(share_cell(row.cost, terminal) + "  ", escape_line(row.name, terminal.ascii), terminal);
  }
  return out;
}

// Where a library has no symbols, these say which of its samples are at one place.
std::string addresses_section(const query::FunctionReport& report, const Terminal& terminal) {
  if (report.unnamed.empty()) return "";
  const std::size_t samples = samples_width(report.summary);
  std::string out = terminal.dim(pad_left("self", kShareWidth) + pad_left("samples", samples) +
                                 "  address without a name (offset in its file)") +
                    "\n";
  double rest = report.rest_unnamed.share;
  for (std::size_t i = 0; i < report.unnamed.size(); ++i) {
    const query::AddressRow& row = report.unnamed[i];
    if (i >= kMostAddresses) {
      rest += row.cost.share;
      continue;
    }
    out += rest_of_line(share_cell(row.cost, terminal) + samples_cell(row.cost, samples, terminal) + "  ",
                        escape_line(row.name, terminal.ascii), terminal);
  }
  if (const std::size_t all = report.unnamed.size() + report.more_unnamed; all > kMostAddresses)
    out += terminal.dim(fmt::format("{}  at {} more addresses (--json; tailor sql has all)",
                                    pad_left(percent(rest), kShareWidth), grouped(all - kMostAddresses))) +
           "\n";
  return out;
}

std::string calls_section(const query::FunctionReport& report, const FunctionView& view,
                          const Terminal& terminal) {
  if (report.calls.empty()) return "";
  std::string out =
      terminal.dim(pad_left("total", kShareWidth) + pad_left("self", kShareWidth) + "  call graph") + "\n";
  TreeLines lines(terminal);
  std::size_t shown = 0;
  for (const query::CallRow& row : report.calls) {
    if (shown++ == view.calls) {
      out += terminal.dim(fmt::format("{:>8}  more calls (--calls, --least)", "...")) + "\n";
      break;
    }
    const std::string line = share_cell(row.total, terminal) + share_cell(row.cost, terminal) + "  " +
                             lines.next(row.depth, row.last);
    const std::size_t used = columns(line);
    const std::size_t room = terminal.width > used + 20 ? terminal.width - used : 20;
    out += line + function_text(row.name, row.function, room, terminal) + "\n";
  }
  return out;
}

std::string heading(const query::PlanReport& summary, const std::string& what, const Terminal& terminal) {
  const std::string text =
      wrap(fmt::format("{}: {} in {} samples of {}", what, weight_text(summary.total.weight, summary.source),
                       grouped(summary.total.samples), escape_line(summary.source.name, terminal.ascii)),
           terminal.width, 0);
  return (text.starts_with(what) ? terminal.bold(what) + text.substr(what.size()) : text) + "\n";
}

std::string chains_text(const query::FunctionReport& report) {
  if (report.with_chain > 0) {
    return fmt::format(
        "{} of the samples brought callers, {} lead to where a thread begins (main, _start, start_thread); "
        "without them a total is what is known of it.",
        percent(report.with_chain), percent(report.whole_chain));
  }
  return "No call chains were taken: record with --callchain for totals and the call graph.";
}

std::string named_section(const std::vector<query::NamedRow>& rows, std::size_t samples,
                          const Terminal& terminal) {
  std::string out;
  const bool ranges = terminal.width >= kNarrowFunctions;
  for (const query::NamedRow& row : rows) {
    out +=
        rest_of_line(share_cell(row.cost, terminal) + (ranges ? " " + range_cell(row.cost, terminal) : "") +
                         samples_cell(row.cost, samples, terminal) + "  ",
                     escape_line(row.name, terminal.ascii), terminal);
  }
  return out;
}

}  // namespace

std::string render(const query::Profile& profile, const query::FunctionReport& report,
                   const std::vector<query::FunctionReport>& others, const Terminal& terminal,
                   const FunctionView& view) {
  std::string out =
      notices(profile, report.summary, terminal) + heading(report.summary, "Functions", terminal) + "\n";
  out += functions_section(report, view, terminal) + "\n" + objects_section(report, terminal) + "\n";
  const std::string addresses = addresses_section(report, terminal);
  if (!addresses.empty()) out += addresses + "\n";
  const std::string calls = calls_section(report, view, terminal);
  if (!calls.empty()) out += calls + "\n";
  for (const query::FunctionReport& other : others)
    out += heading(other.summary, "Functions", terminal) + "\n" + functions_section(other, view, terminal) +
           "\n";
  return out + wrap(chains_text(report), terminal.width, 0) + "\n" +
         quality_section(profile, report.summary, terminal);
}

std::string render(const query::Profile& profile, const query::RuleReport& report, const Terminal& terminal) {
  const std::string engine =
      report.engine.empty() ? "Operators by rules" : escape_line(report.engine, terminal.ascii) + " by rules";
  const std::size_t samples = samples_width(report.summary);
  const std::string head =
      terminal.dim(pad_left("share", kShareWidth) +
                   (terminal.width < kNarrowFunctions ? "" : pad_left("95 % range", kRangeBeside)) +
                   pad_left("samples", samples) + "  ");
  std::string out =
      notices(profile, report.summary, terminal) + heading(report.summary, engine, terminal) + "\n";
  out += head + terminal.dim("operator") + "\n" + named_section(report.operators, samples, terminal) + "\n";
  if (!report.phases.empty())
    out += head + terminal.dim("phase") + "\n" + named_section(report.phases, samples, terminal) + "\n";
  out += share_cell(report.in_operators, terminal) + "  operators\n" +
         share_cell(report.in_phases, terminal) + "  phases\n" + share_cell(report.unexplained, terminal) +
         "  no rule fits\n";
  if (report.outside.amount.weight > 0)
    out += share_cell(report.outside, terminal) + "  outside of the engine\n";
  constexpr std::size_t kMost = 5;
  for (std::size_t i = 0; i < report.unexplained_functions.size() && i < kMost; ++i) {
    const query::FunctionRow& row = report.unexplained_functions[i];
    const std::string line = "    " + pad_left(percent(row.cost.share), kShareWidth) + "  in ";
    out +=
        terminal.dim(line + function_text(row.name, row.function, terminal.width - columns(line), terminal)) +
        "\n";
  }
  return out + "\n" + quality_section(profile, report.summary, terminal);
}

}  // namespace tailor::cli
