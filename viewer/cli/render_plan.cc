#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "viewer/cli/render.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kSamplesWidth = 9;
constexpr std::size_t kBarWidth = 10;
constexpr std::size_t kNarrow = 90;     // below it bars and the kernel column go
constexpr std::size_t kMaxNested = 40;  // a plan deeper than this is drawn flat from there on

bool parse_double(const std::string& text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

// What the operator does first, then the rest with its labels; the estimate of its rows last.
std::string attributes_text(const query::ComponentRow& row, const Terminal& terminal) {
  std::string plain, labelled, estimate;
  for (const auto& [key, value] : row.attributes) {
    const std::string text = escape_line(value, terminal.ascii);
    double rows = 0;
    if (key == "estimated_rows" && parse_double(value, rows)) {
      estimate = fmt::format("~{} rows", grouped(static_cast<std::uint64_t>(std::clamp(rows, 0.0, 1e18))));
    } else if (key == "table" || key == "predicate" || key == "condition" || key == "details") {
      // "Scan orders" needs no "orders".
      if (row.name.find(value) == std::string::npos) plain += (plain.empty() ? "" : ", ") + text;
    } else {
      labelled +=
          fmt::format("{}{}: {}", labelled.empty() ? "" : ", ", escape_line(key, terminal.ascii), text);
    }
  }
  for (const std::string& part : {labelled, estimate}) {
    if (!part.empty()) plain += (plain.empty() ? "" : "; ") + part;
  }
  return plain;
}

// The lines that lead to a node: "│  └─ ".
std::vector<std::string> tree_prefixes(const std::vector<query::OperatorRow>& rows,
                                       const Terminal& terminal) {
  std::vector<std::string> prefixes;
  std::vector<bool> open;  // by depth: more siblings follow
  for (const query::OperatorRow& row : rows) {
    const std::size_t depth = std::min<std::size_t>(row.depth, kMaxNested);
    std::string prefix;
    for (std::size_t d = 1; d < depth; ++d) prefix += d < open.size() && open[d] ? terminal.trunk() : "   ";
    if (depth > 0) prefix += row.last ? terminal.last_branch() : terminal.branch();
    open.resize(std::max(open.size(), depth + 1));
    open[depth] = !row.last;
    open.resize(depth + 1);
    prefixes.push_back(std::move(prefix));
  }
  return prefixes;
}

std::string samples_cell(const query::Share95& cost, const Terminal& terminal) {
  const auto samples = static_cast<std::uint64_t>(std::llround(cost.amount.samples));
  return terminal.dim(pad_left(grouped(samples), kSamplesWidth));
}

// The columns left of a name.
std::string cost_cells(const query::Share95& cost, const Terminal& terminal) {
  std::string out = share_cell(cost, terminal) + range_cell(cost, terminal) + samples_cell(cost, terminal);
  if (terminal.width < kNarrow) return out + "  ";
  const double kernel = cost.amount.weight > 0 ? cost.share * cost.amount.kernel / cost.amount.weight : 0;
  const std::string kernel_cell = pad_left(percent(kernel), 9);
  out += kernel > 0 ? kernel_cell : terminal.dim(kernel_cell);
  return out + "  " + terminal.bar_colour(terminal.bar(cost.share, kBarWidth)) + "  ";
}

std::size_t cost_width(const Terminal& terminal) {
  const std::size_t narrow = kShareWidth + kRangeWidth + kSamplesWidth + 2;
  return terminal.width < kNarrow ? narrow : narrow + 9 + kBarWidth + 2;
}

std::string heading_cells(std::string_view last, const Terminal& terminal) {
  std::string out = pad_left("share", kShareWidth) + pad_left("95 % range", kRangeWidth) +
                    pad_left("samples", kSamplesWidth);
  if (terminal.width >= kNarrow) out += pad_left("kernel", 9) + std::string(2 + kBarWidth, ' ');
  out += "  ";
  const std::size_t room = terminal.width - std::min(terminal.width, columns(out));
  return terminal.dim(out + cut(last, room, terminal.ascii)) + "\n";
}

std::string operators_section(const query::PlanPart& part, const Terminal& terminal) {
  const std::vector<std::string> prefixes = tree_prefixes(part.operators, terminal);
  const std::size_t room = terminal.width - std::min(terminal.width - 20, cost_width(terminal));
  std::size_t name_width = 0;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < part.operators.size(); ++i) {
    names.push_back(prefixes[i] + escape_line(part.operators[i].name, terminal.ascii));
    name_width = std::max(name_width, columns(names.back()));
  }
  name_width = std::min(name_width, room);
  std::string out = heading_cells("operator", terminal);
  for (std::size_t i = 0; i < part.operators.size(); ++i) {
    const query::OperatorRow& row = part.operators[i];
    std::string name = pad(cut(names[i], name_width, terminal.ascii), name_width);
    const std::string attributes = attributes_text(row, terminal);
    out += cost_cells(row.cost, terminal) + name;
    if (!attributes.empty() && room > name_width + 8) {
      out += "  " + terminal.dim(cut(attributes, room - name_width - 2, terminal.ascii));
    }
    while (out.ends_with(' ')) out.pop_back();
    out += "\n";
  }
  return out;
}

std::string pipeline_title(const query::PipelineRow& row, const Terminal& terminal) {
  if (row.id == 0) return "pipeline unknown";
  std::string out = fmt::format("pipeline {}", row.id);
  if (!row.name.empty()) out += " " + escape_line(row.name, terminal.ascii);
  if (!row.depends_on.empty()) out += fmt::format(" (after {})", fmt::join(row.depends_on, ", "));
  return out;
}

std::string task_title(const query::ComponentRow& task, const Terminal& terminal) {
  if (task.id == kNoComponent) return "no task known";
  std::string out = escape_line(task.name, terminal.ascii);
  if (!task.operators.empty()) {
    std::string owners;
    for (const std::string& name : task.operators) owners += (owners.empty() ? "" : " + ") + name;
    out += fmt::format("  ({})", escape_line(owners, terminal.ascii));
  }
  return out;
}

std::string pipelines_section(const query::PlanPart& part, const Terminal& terminal) {
  if (part.pipelines.empty()) return "";
  const std::size_t room = terminal.width - std::min(terminal.width - 20, cost_width(terminal));
  std::string out = heading_cells("pipeline, and its tasks in the order tuples pass them", terminal);
  for (const query::PipelineRow& row : part.pipelines) {
    if (row.id == 0 && row.cost.amount.weight == 0) continue;
    out += cost_cells(row.cost, terminal) +
           terminal.bold(cut(pipeline_title(row, terminal), room, terminal.ascii)) + "\n";
    for (const query::ComponentRow& task : row.tasks) {
      out += cost_cells(task.cost, terminal) + cut("  " + task_title(task, terminal), room, terminal.ascii) +
             "\n";
    }
  }
  return out;
}

// Execution facts, where the report is about one.
std::string execution_line(const query::Profile& profile, const query::PlanPart& part,
                           const Terminal& terminal) {
  const profile::ExecutionRecord* only = nullptr;
  for (const profile::ExecutionRecord& e : profile.executions()) {
    if (e.process != part.process || e.plan != part.plan) continue;
    if (only != nullptr) return "";
    only = &e;
  }
  if (only == nullptr) return "";
  std::string out;
  for (const auto& [key, value] : only->labels) {
    if (key == "query" || value.empty()) continue;
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", escape_line(key, terminal.ascii),
                       escape_line(value, terminal.ascii));
  }
  if (only->end != kTimeMax && only->end >= only->begin) {
    out += fmt::format("{}{} from begin to end, {} rows", out.empty() ? "" : ", ",
                       duration(static_cast<double>(only->end - only->begin)), grouped(only->rows));
  }
  if (!only->error.empty()) out += ", failed: " + escape_line(only->error, terminal.ascii);
  return out.empty() ? "" : terminal.dim(cut(out, terminal.width, terminal.ascii)) + "\n";
}

}  // namespace

std::string render(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal) {
  std::string out;
  if (!profile.narrowed_to().empty()) {
    out += terminal.bold(cut("Only " + escape_line(profile.narrowed_to(), terminal.ascii), terminal.width,
                             terminal.ascii)) +
           "\n";
  }
  for (const query::PlanPart& part : report.plans) {
    out += plan_heading(profile, report, part.process, part.plan, part.name, terminal);
    out += execution_line(profile, part, terminal);
    out += "\n" + operators_section(part, terminal) + "\n";
    const std::string pipelines = pipelines_section(part, terminal);
    if (!pipelines.empty()) out += pipelines + "\n";
  }
  out += sum_section(report, terminal) + "\n" + off_cpu_section(report, terminal) +
         quality_section(profile, report, terminal);
  out +=
      "\n" +
      terminal.dim(wrap("Shares are parts of everything sampled here; an operator's share is its own work, "
                        "without that of its inputs. With 95 % confidence the true share lies in the range.",
                        terminal.width, 0)) +
      "\n";
  return out;
}

std::string render(const query::Profile& profile, const query::LevelReport& report,
                   const Terminal& terminal) {
  std::string out;
  for (const query::LevelReport::Part& part : report.plans) {
    out += plan_heading(profile, report.summary, part.process, part.plan, part.name, terminal) + "\n";
    const std::size_t room = terminal.width - std::min(terminal.width - 20, cost_width(terminal));
    out += heading_cells(escape_line(report.level, terminal.ascii), terminal);
    for (const query::ComponentRow& row : part.rows) {
      out += cost_cells(row.cost, terminal) + cut(task_title(row, terminal), room, terminal.ascii) + "\n";
    }
    if (part.unknown.amount.weight > 0) {
      out += cost_cells(part.unknown, terminal) +
             cut("no " + escape_line(report.level, terminal.ascii) + " known", room, terminal.ascii) + "\n";
    }
    out += "\n";
  }
  return out + sum_section(report.summary, terminal) + "\n" +
         quality_section(profile, report.summary, terminal);
}

}  // namespace tailor::cli
