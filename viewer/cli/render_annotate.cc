#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "viewer/cli/render.h"
#include "viewer/cli/render_machine_code.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
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

bool is_heading(const AnnotatedLine& line) {
  return line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock;
}

enum class Shown : std::uint8_t { kNot, kFolded, kPrinted };

// Functions without a cost are left out. Of the others, hot blocks are printed as a whole, and of the rest
// what has a cost and the lines beside it; what is between is folded.
std::vector<Shown> lines_to_show(const std::vector<AnnotatedLine>& lines, bool all) {
  if (all) return std::vector<Shown>(lines.size(), Shown::kPrinted);
  std::vector<Shown> out(lines.size(), Shown::kPrinted);
  bool function_counts = true, hot = false;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].kind == AnnotatedLine::Kind::kFunction) function_counts = lines[i].cost.amount.weight > 0;
    if (is_heading(lines[i])) hot = lines[i].hot;
    const auto is_dear = [&](std::size_t at) {
      return at < lines.size() && !is_heading(lines[at]) && lines[at].cost.amount.weight > 0;
    };
    const bool beside = !is_heading(lines[i]) && (is_dear(i + 1) || (i > 0 && is_dear(i - 1)));
    const bool near = lines[i].cost.amount.weight > 0 || beside;
    if (!hot && !near) out[i] = Shown::kFolded;
    if (!function_counts) out[i] = Shown::kNot;
  }
  // A line that says how many are folded saves nothing where these are few.
  constexpr std::size_t kWorthFolding = 4;
  for (std::size_t i = 0; i < out.size();) {
    std::size_t end = i;
    while (end < out.size() && out[end] == Shown::kFolded) ++end;
    if (end - i < kWorthFolding) std::fill(out.begin() + i, out.begin() + end, Shown::kPrinted);
    i = std::max(end, i + 1);
  }
  return out;
}

// A function or block, with what its lines cost.
std::string group_line(const AnnotatedLine& line, const ListingColumns& columns, const Terminal& terminal) {
  const std::size_t room = columns.text + columns.owner;
  const std::string sums = group_text(line, terminal);
  const std::size_t sums_width = std::min(cli::columns(sums), room * 2 / 3);
  const std::string shown = cut(escape(line.text, terminal.ascii), room - sums_width, terminal.ascii);
  return fmt::format("{} {}", terminal.bold(shown),
                     terminal.bar_colour(cut(sums, room - cli::columns(shown), terminal.ascii)));
}

std::string heading_text(const AnnotatedLine& line, const ListingColumns& columns, const Terminal& terminal) {
  const std::string mark = pad_left(line.hot ? "hot" : "", kShareWidth);
  return fmt::format("{}  {}", line.hot ? terminal.warn(mark) : mark, group_line(line, columns, terminal));
}

// The hot blocks before all others, the most expensive first, with the line where each begins.
std::string hot_blocks(const query::AnnotateReport& report, const ListingColumns& columns,
                       const Terminal& terminal) {
  constexpr std::size_t kMost = 8;  // each has a twentieth of the time or more: further ones have little
  std::vector<AnnotatedLine> hot;
  for (const AnnotatedLine& line : report.lines) {
    if (!line.hot) continue;
    // What follows the label is a comment.
    hot.push_back(line);
    std::string& label = hot.back().text;
    label.resize(std::min(label.find(';'), label.size()));
    while (label.ends_with(' ')) label.pop_back();
  }
  if (hot.empty()) return "";
  std::ranges::stable_sort(hot, std::greater(),
                           [](const AnnotatedLine& line) { return line.cost.amount.weight; });
  hot.resize(std::min(hot.size(), kMost));
  std::string out =
      terminal.dim(pad_left("line", columns.number) + pad_left("share", kShareWidth) + "  hot block") + "\n";
  for (const AnnotatedLine& line : hot)
    out += terminal.dim(pad_left(std::to_string(line.number), columns.number)) +
           share_cell(line.cost, terminal) + "  " + group_line(line, columns, terminal) + "\n";
  return out + "\n";
}

std::string line_text(const AnnotatedLine& line, const ListingColumns& columns, const Terminal& terminal) {
  std::string out = terminal.dim(pad_left(std::to_string(line.number), columns.number));
  if (is_heading(line)) {
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

std::string folded_text(std::size_t lines, const ListingColumns& columns, const Terminal& terminal) {
  return terminal.dim(fmt::format("{}{}  {} {} lines without cost (--all)", std::string(columns.number, ' '),
                                  std::string(kShareWidth, ' '), terminal.ascii ? "..." : "⋯",
                                  grouped(lines))) +
         "\n";
}

std::size_t line_count(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// The lines, each with its machine code below: in hot blocks all of it, elsewhere what has a cost.
ListingText listing(const query::AnnotateReport& report, const MachineCodeText& machine_code,
                    const ListingColumns& columns, const Terminal& terminal, bool all) {
  constexpr std::size_t kContext = 8;  // lines in sight above the one that cost most
  const std::vector<Shown> shown = lines_to_show(report.lines, all);
  ListingText out;
  bool hot = false;
  double most = 0;
  std::size_t folded = 0;
  for (std::size_t i = 0; i < report.lines.size(); ++i) {
    const AnnotatedLine& line = report.lines[i];
    if (is_heading(line)) hot = line.hot;
    folded += shown[i] == Shown::kFolded ? 1 : 0;
    if (shown[i] != Shown::kFolded && folded > 0)
      out.text += folded_text(std::exchange(folded, 0), columns, terminal);
    if (shown[i] != Shown::kPrinted) continue;
    if (!is_heading(line) && line.cost.amount.weight > most) {
      most = line.cost.amount.weight;
      const std::size_t above = line_count(out.text);
      out.hottest = above > kContext ? above - kContext + 1 : 1;
    }
    out.text += line_text(line, columns, terminal) + machine_code.below(line.number, all || hot, columns);
  }
  if (folded > 0) out.text += folded_text(folded, columns, terminal);
  return out;
}

}  // namespace

ListingText render(const query::Profile& profile, const query::AnnotateReport& report,
                   const Terminal& terminal, const AnnotateOptions& options) {
  const MachineCodeText machine_code(report, terminal);
  const ListingColumns columns = columns_of(report, machine_code, terminal);
  ListingText out;
  out.text = notices(profile, report.summary, terminal) +
             plan_heading(profile, report.summary, report.process, report.plan, report.name, terminal) +
             machine_code.heading() + "\n" + hot_blocks(report, columns, terminal) +
             terminal.dim(pad_left("line", columns.number) + pad_left("share", kShareWidth) + "  " +
                          pad(escape_line(report.level, terminal.ascii), columns.text) + "  owner") +
             "\n";
  const ListingText lines = listing(report, machine_code, columns, terminal, options.all);
  if (lines.hottest > 0) out.hottest = line_count(out.text) + lines.hottest;
  out.text += lines.text + machine_code.of_no_line(options.all, columns);
  if (!report.elsewhere.empty())
    out.text += "\n" + terminal.bold("Of this query, but on no line above") + "\n";
  for (const query::NamedRow& row : report.elsewhere) {
    out.text += fmt::format(
        "{}  {}\n", share_cell(row.cost, terminal),
        cut(escape_line(row.name, terminal.ascii), terminal.width - kShareWidth - 2, terminal.ascii));
  }
  out.text += "\n" + sum_section(report.summary, CostTable(profile, report.summary, terminal)) + "\n" +
              quality_section(profile, report.summary, terminal);
  return out;
}

}  // namespace tailor::cli
