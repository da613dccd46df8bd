#include <fmt/format.h>

#include "viewer/cli/render.h"
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

std::string line_text(const AnnotatedLine& line, std::size_t text_width, std::size_t owner_width,
                      std::size_t number_width, const Terminal& terminal) {
  const std::string number = terminal.dim(pad_left(std::to_string(line.number), number_width));
  const bool heading =
      line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock;
  const std::string text = escape(line.text, terminal.ascii);
  if (heading) {
    const std::string sums = group_text(line, terminal);
    const std::size_t sums_width = std::min(columns(sums), (text_width + owner_width) * 2 / 3);
    const std::string shown = cut(text, text_width + owner_width - sums_width, terminal.ascii);
    return fmt::format(
        "{}{}  {} {}", number, std::string(kShareWidth, ' '), terminal.bold(shown),
        terminal.bar_colour(cut(sums, text_width + owner_width - columns(shown), terminal.ascii)));
  }
  const std::string share =
      line.cost.amount.weight > 0 ? share_cell(line.cost, terminal) : std::string(kShareWidth, ' ');
  return fmt::format("{}{}  {}  {}", number, share, pad(cut(text, text_width, terminal.ascii), text_width),
                     terminal.dim(cut(owner_text(line, terminal), owner_width, terminal.ascii)));
}

}  // namespace

std::string render(const query::Profile& profile, const query::AnnotateReport& report,
                   const Terminal& terminal, const AnnotateOptions& options) {
  std::string out =
      notices(profile, report.summary, terminal) +
      plan_heading(profile, report.summary, report.process, report.plan, report.name, terminal) + "\n";
  const std::size_t number_width = std::max<std::size_t>(4, std::to_string(report.lines.size()).size());
  const std::size_t room = terminal.width - std::min(terminal.width - 24, number_width + kShareWidth + 4);
  std::size_t owner_width = 0;
  for (const AnnotatedLine& line : report.lines) {
    owner_width = std::max(owner_width, columns(owner_text(line, terminal)));
  }
  owner_width = std::min(owner_width, room / 3);
  const std::size_t text_width = room - owner_width;
  out += terminal.dim(pad_left("line", number_width) + pad_left("share", kShareWidth) + "  " +
                      pad(escape_line(report.level, terminal.ascii), text_width) + "  owner") +
         "\n";
  const std::vector<bool> print = lines_to_print(report.lines, options.all);
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    if (!print[i]) continue;
    std::string line = line_text(report.lines[i], text_width, owner_width, number_width, terminal);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
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
