#include <fmt/format.h>

#include "viewer/cli/render.h"
#include "viewer/cli/render_machine_code.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using query::AnnotatedLine;

std::string joined(const std::vector<std::string>& names, const Terminal& terminal) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : " + ") + escape_line(name, terminal.ascii);
  return out;
}

// "(Group by 50.0 %, Hash join 1.9 %)"
std::string group_text(const AnnotatedLine& line, const Terminal& terminal) {
  std::string out;
  for (const auto& [name, cost] : line.by_operator) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", escape_line(name, terminal.ascii),
                       percent(cost.share));
  }
  return out.empty() ? "" : "(" + out + ")";
}

std::string owner_text(const AnnotatedLine& line, const Terminal& terminal) {
  std::string out = joined(line.operators, terminal);
  const std::string tasks = joined(line.tasks, terminal);
  if (!tasks.empty() && tasks != out) out += fmt::format(" {} {}", terminal.dot(), tasks);
  return out;
}

// Which functions are worth printing: those with costs, or all.
std::vector<bool> lines_to_print(const std::vector<AnnotatedLine>& lines, bool all) {
  std::vector<bool> print(lines.size(), true);
  bool function_counts = true;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == AnnotatedLine::Kind::kFunction)
      function_counts = all || lines[i].cost.amount.weight > 0;
    print[i] = function_counts;
  }
  return print;
}

std::string heading_text(const AnnotatedLine& line, const ListingColumns& columns, const Terminal& terminal) {
  const std::size_t room = columns.text + columns.owner;
  const std::string sums = group_text(line, terminal);
  const std::size_t sums_width = std::min(cli::columns(sums), room * 2 / 3);
  const std::string shown = cut(escape(line.text, terminal.ascii), room - sums_width, terminal.ascii);
  const std::string mark = pad_left(line.hot ? "hot" : "", kShareWidth);
  return fmt::format("{}  {} {}", line.hot ? terminal.warn(mark) : mark, terminal.bold(shown),
                     terminal.bar_colour(cut(sums, room - cli::columns(shown), terminal.ascii)));
}

std::string line_text(const AnnotatedLine& line, const ListingColumns& columns, const Terminal& terminal) {
  const bool heading =
      line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock;
  std::string out = terminal.dim(pad_left(std::to_string(line.number), columns.number));
  if (heading) {
    out += heading_text(line, columns, terminal);
  } else {
    const std::string share =
        line.cost.amount.weight > 0 ? share_cell(line.cost, terminal) : std::string(kShareWidth, ' ');
    const std::string text = cut(escape(line.text, terminal.ascii), columns.text, terminal.ascii);
    out += fmt::format("{}  {}  {}", share, pad(text, columns.text),
                       terminal.dim(cut(owner_text(line, terminal), columns.owner, terminal.ascii)));
  }
  while (out.ends_with(' ')) out.pop_back();
  return out + "\n";
}

ListingColumns columns_of(const query::AnnotateReport& report, const MachineCodeText& machine_code,
                          const Terminal& terminal) {
  ListingColumns columns;
  columns.number = std::max<std::size_t>(4, std::to_string(report.lines.size()).size());
  const std::size_t room = terminal.width - std::min(terminal.width - 24, columns.number + kShareWidth + 4);
  columns.owner = machine_code.owner_width();
  for (const AnnotatedLine& line : report.lines)
    columns.owner = std::max(columns.owner, cli::columns(owner_text(line, terminal)));
  columns.owner = std::min(columns.owner, room / 3);
  columns.text = room - columns.owner;
  return columns;
}

// The lines, each with its machine code below: in hot blocks all of it, elsewhere what has a cost.
std::string listing(const query::AnnotateReport& report, const MachineCodeText& machine_code,
                    const ListingColumns& columns, const Terminal& terminal, bool all) {
  const std::vector<bool> print = lines_to_print(report.lines, all);
  std::string out;
  bool hot = false;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const AnnotatedLine& line = report.lines[i];
    if (line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock)
      hot = line.hot;
    if (print[i])
      out += line_text(line, columns, terminal) + machine_code.below(line.number, all || hot, columns);
  }
  return out;
}

}  // namespace

std::string render(const query::Profile& profile, const query::AnnotateReport& report,
                   const Terminal& terminal, const AnnotateOptions& options) {
  const MachineCodeText machine_code(report, terminal);
  const ListingColumns columns = columns_of(report, machine_code, terminal);
  std::string out =
      notices(profile, report.summary, terminal) +
      plan_heading(profile, report.summary, report.process, report.plan, report.name, terminal) +
      machine_code.heading() + "\n" +
      terminal.dim(pad_left("line", columns.number) + pad_left("share", kShareWidth) + "  " +
                   pad(escape_line(report.level, terminal.ascii), columns.text) + "  owner") +
      "\n" + listing(report, machine_code, columns, terminal, options.all) +
      machine_code.of_no_line(options.all, columns);
  if (!report.elsewhere.empty()) out += "\n" + terminal.bold("Of this query, but on no line above") + "\n";
  for (const query::NamedRow& row : report.elsewhere) {
    out += fmt::format(
        "{}  {}\n", share_cell(row.cost, terminal),
        cut(escape_line(row.name, terminal.ascii), terminal.width - kShareWidth - 2, terminal.ascii));
  }
  return out + "\n" + sum_section(report.summary, CostTable(profile, report.summary, terminal)) + "\n" +
         quality_section(profile, report.summary, terminal);
}

}  // namespace tailor::cli
