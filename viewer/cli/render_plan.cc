#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <sstream>

#include "daemon/profile/added_runs.h"
#include "viewer/cli/cost_table.h"
#include "viewer/cli/render.h"
#include "viewer/cli/render_blockers.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/text.h"
#include "viewer/cli/tree_lines.h"

namespace tailor::cli {
namespace {

bool parse_double(const std::string& text, double& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(out);
}

std::string count_text(double number) {
  return grouped(static_cast<std::uint64_t>(std::llround(std::clamp(number, 0.0, 1e18))));
}

// What is known of an operator's rows: what the planner expected, and what one execution counted.
struct Rows {
  std::optional<double> estimated, actual, loops;

  // Whether the attribute says something of rows; then it is taken.
  bool take(const std::string& key, const std::string& value) {
    std::optional<double>* const of = key == "estimated_rows" ? &estimated
                                      : key == "actual_rows"  ? &actual
                                      : key == "loops"        ? &loops
                                                              : nullptr;
    double number = 0;
    if (of == nullptr || !parse_double(value, number)) return false;
    *of = number;
    return true;
  }

  bool counted() const { return actual || loops; }

  // By how much the estimate was off, where that is as much as the page marks. "" otherwise.
  std::string misestimate() const {
    constexpr double kMatters = 4;
    if (!estimated || !actual || (loops && *loops == 0)) return "";
    // Planners expect one row at least.
    const double least = std::max(*estimated, 1.0);
    if (*actual >= kMatters * least) return count_text(*actual / least) + " times the estimate";
    if (least < kMatters * std::max(*actual, 1.0)) return "";
    if (*actual < 1) return "none of the estimate";
    return fmt::format("1/{} of the estimate", count_text(least / *actual));
  }

  std::string counts() const {
    std::string out = estimated ? fmt::format("~{} rows", count_text(*estimated)) : std::string();
    std::string counted;
    if (actual) counted = fmt::format("{} counted", count_text(*actual));
    if (loops && *loops == 0) counted = "never run";
    if (actual && loops && *loops > 1) counted += fmt::format(" in each of {} loops", count_text(*loops));
    if (counted.empty()) return out;
    return out.empty() ? counted : out + ", " + counted;
  }

  std::string text() const {
    const std::string off = misestimate();
    return off.empty() ? counts() : counts() + ": " + off;
  }
};

std::string with_semicolon(const std::string& first, const std::string& second) {
  return first.empty() || second.empty() ? first + second : first + "; " + second;
}

// What is said of an operator beside its cost.
struct Said {
  Rows rows;
  std::string plain, labelled;  // what it does; the rest, with its labels
};

Said said_of(const query::ComponentRow& row, const Terminal& terminal) {
  Said said;
  for (const auto& [key, value] : row.attributes) {
    const std::string text = escape_line(value, terminal.ascii);
    if (said.rows.take(key, value)) continue;
    if (key == "table" || key == "index" || key == "predicate" || key == "condition" || key == "details") {
      // "Scan orders" needs no "orders".
      if (row.name.find(value) == std::string::npos) said.plain += (said.plain.empty() ? "" : ", ") + text;
    } else {
      said.labelled +=
          fmt::format("{}{}: {}", said.labelled.empty() ? "" : ", ", escape_line(key, terminal.ascii), text);
    }
  }
  return said;
}

// Dim, but for the misestimate in it.
std::string marked(const std::string& text, const Said& said, const Terminal& terminal) {
  const std::string off = said.rows.misestimate();
  const std::size_t at = off.empty() ? std::string::npos : text.find(": " + off);
  if (at == std::string::npos) return terminal.dim(text);
  const std::size_t begin = at + 2, end = begin + off.size();
  return terminal.dim(text.substr(0, begin)) + terminal.warn(off) +
         (end < text.size() ? terminal.dim(text.substr(end)) : "");
}

// What is said of an operator: what it does first, then its rows, then the rest. It stands beside the name.
// Rows that were counted and have no room there stand below, because nobody reads off what was cut.
class SaidLines {
 public:
  // A name may take `name_width` columns of `room`.
  SaidLines(const Terminal& terminal, std::size_t room, std::size_t name_width)
      : terminal_(terminal), room_(room), left_(room > name_width + 8 ? room - name_width - 2 : 0) {}

  // Behind the name; "" if there is nothing.
  std::string beside(const Said& said) const {
    const std::string rows = is_below(said) ? "" : said.rows.text();
    const std::string text = with_semicolon(with_semicolon(said.plain, rows), said.labelled);
    if (left_ == 0 || text.empty()) return "";
    return "  " + marked(cut(text, left_, terminal_.ascii), said, terminal_);
  }

  // Whole lines; "" if there are none. `tree`: what leads to a further line of the operator.
  std::string below(const Said& said, const std::string& tree) const {
    if (!is_below(said)) return "";
    const bool deep = columns(tree) > room_ / 2;
    const std::string before =
        std::string(terminal_.width - room_, ' ') + (deep ? std::string(room_ / 2, ' ') : tree) + "  ";
    const std::size_t width = room_ - std::min(room_ - 1, std::min(columns(tree), room_ / 2) + 2);
    const std::string text = said.rows.text();
    if (columns(text) <= width) return before + marked(text, said, terminal_) + "\n";
    const auto wrapped = [&](const std::string& words, const auto& styled) {
      std::string out;
      std::istringstream in(wrap(words, width, 0));
      for (std::string line; std::getline(in, line);)
        out += before + styled(cut(line, width, terminal_.ascii)) + "\n";
      return out;
    };
    return wrapped(said.rows.counts(), [&](const std::string& line) { return terminal_.dim(line); }) +
           wrapped(said.rows.misestimate(), [&](const std::string& line) { return terminal_.warn(line); });
  }

 private:
  bool is_below(const Said& said) const {
    const std::string rows = said.rows.text();
    if (!said.rows.counted() || rows.empty()) return false;
    const std::size_t cut_mark = said.labelled.empty() ? 0 : 3;
    return columns(with_semicolon(said.plain, rows)) + cut_mark > left_;
  }

  const Terminal& terminal_;
  std::size_t room_, left_;
};

// What else is of the plan's own time, and the sum.
std::string rest_of_plan(const query::PlanReport& report, const query::PlanPart& part,
                         const CostTable& table) {
  const query::Scale scale = query::scale_within(report, part);
  std::string out;
  for (const query::NamedRow& row : part.unowned) out += table.line(row.cost, "no operator: " + row.name);
  return out + table.line(scale(part.cost.amount), "= the plan's own time");
}

// A dictionary may be a list of many thousands (the methods of a program) and no tree. Then the rows are
// those that have a cost, most expensive first.
bool is_long_list(const query::PlanPart& part) {
  constexpr std::size_t kMostShown = 50;
  return part.operators.size() > kMostShown &&
         std::ranges::all_of(part.operators, [](const auto& row) { return row.depth == 0; });
}

std::string list_section(const query::PlanReport& report, const query::PlanPart& part,
                         const CostTable& table) {
  std::vector<query::OperatorRow> rows;
  std::ranges::copy_if(part.operators, std::back_inserter(rows),
                       [](const auto& row) { return row.cost.amount.weight > 0; });
  query::most_expensive_first(rows);
  std::string out = table.heading("operator");
  for (const query::OperatorRow& row : rows)
    out += table.line(row.cost, escape_line(row.name, table.terminal().ascii));
  out += fmt::format("  {} more have no samples\n", part.operators.size() - rows.size());
  return out + rest_of_plan(report, part, table);
}

std::string operators_section(const query::PlanReport& report, const query::PlanPart& part,
                              const CostTable& table) {
  if (is_long_list(part)) return list_section(report, part, table);
  const Terminal& terminal = table.terminal();
  TreeLines lines(terminal);
  const std::size_t room = table.room();
  std::size_t name_width = 0;
  std::vector<std::string> names, below;
  for (const query::OperatorRow& row : part.operators) {
    names.push_back(lines.next(row.depth, row.last) + escape_line(row.name, terminal.ascii));
    below.push_back(lines.below());
    name_width = std::max(name_width, columns(names.back()));
  }
  name_width = std::min(name_width, room);
  const SaidLines said_lines(terminal, room, name_width);
  std::string out = table.heading("operator");
  for (std::size_t i = 0; i < part.operators.size(); ++i) {
    const query::OperatorRow& row = part.operators[i];
    const Said said = said_of(row, terminal);
    out += table.cells(row.cost) + pad(cut(names[i], name_width, terminal.ascii), name_width) +
           said_lines.beside(said);
    while (out.ends_with(' ')) out.pop_back();
    out += "\n" + said_lines.below(said, below[i]);
  }
  return out + rest_of_plan(report, part, table);
}

// What happened in the plan's executions beside its own time; "" if nothing did.
std::string beside_line(const query::PlanReport& report, const query::PlanPart& part,
                        const Terminal& terminal) {
  auto sum_text = [&](const std::vector<query::NamedRow>& rows, std::string_view what) {
    query::Amount sum;
    std::string names;
    for (const query::NamedRow& row : rows) {
      sum.add(row.cost.amount);
      names += fmt::format("{}{} {}", names.empty() ? "" : ", ", escape_line(row.name, terminal.ascii),
                           weight_text(row.cost.amount.weight, report));
    }
    const auto samples = static_cast<std::uint64_t>(std::llround(sum.samples));
    return fmt::format("{} {} in {} {} ({})", what, weight_text(sum.weight, report), grouped(samples),
                       samples == 1 ? "sample" : "samples", names);
  };
  std::string out;
  if (!part.engine_rows.empty()) out = sum_text(part.engine_rows, "engine's work for it");
  if (!part.unattributed_rows.empty()) {
    out += (out.empty() ? "" : "; ") + sum_text(part.unattributed_rows, "unattributed in it");
  }
  if (out.empty()) return "";
  return terminal.dim(wrap("Beside its own time: " + out + ".", terminal.width, 0)) + "\n";
}

std::string pipeline_title(const query::PipelineRow& row, const Terminal& terminal) {
  if (row.id == 0) return "in no known pipeline";
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

std::string task_lines(const query::PipelineRow& row, std::string_view indent, const CostTable& table) {
  const Terminal& terminal = table.terminal();
  std::string out;
  for (const query::ComponentRow& task : row.tasks) {
    out += table.cells(task.cost) +
           cut(std::string(indent) + task_title(task, terminal), table.room(), terminal.ascii) + "\n";
  }
  return out;
}

// Of a plan without pipelines: its tasks, where they say more than its operators did.
std::string tasks_section(const query::PlanPart& part, const CostTable& table) {
  std::string out;
  for (const query::PipelineRow& row : part.pipelines) {
    const bool says_more =
        std::ranges::any_of(row.tasks, [](const auto& task) { return !task.operators.empty(); });
    if (says_more) out += task_lines(row, "", table);
  }
  return out.empty() ? "" : table.heading("task") + out;
}

std::string pipelines_section(const query::PlanPart& part, const CostTable& table) {
  if (std::ranges::all_of(part.pipelines, [](const auto& row) { return row.id == 0; }))
    return tasks_section(part, table);
  const Terminal& terminal = table.terminal();
  std::string out = table.heading("pipeline, and its tasks in the order tuples pass them");
  for (const query::PipelineRow& row : part.pipelines) {
    if (row.id == 0 && row.cost.amount.weight == 0) continue;
    out += table.cells(row.cost) +
           terminal.bold(cut(pipeline_title(row, terminal), table.room(), terminal.ascii)) + "\n" +
           task_lines(row, "  ", table);
  }
  return out;
}

// ", 1,204 runs of 1.5 ms on average", and "" for an execution that is one run.
std::string runs_part(const profile::ExecutionRecord& execution) {
  if (execution.added == nullptr) return "";
  const std::uint64_t runs = profile::runs_of(execution);
  if (profile::is_untimed(execution)) return ", runs were added up, and it is not known how many";
  if (runs == 0) return ", no run ended";
  std::string out = fmt::format(
      ", {} {} of {} on average", grouped(runs), runs == 1 ? "run" : "runs",
      duration(static_cast<double>(profile::run_times_of(execution).sum) / static_cast<double>(runs)));
  if (execution.added->failed > 0) out += fmt::format(" ({} failed)", grouped(execution.added->failed));
  return out;
}

// The one execution of the plan that the report is about; nothing: there are several, or nobody knows. A
// profile from a store has others that ran at the same time.
std::optional<profile::ExecutionRecord> only_execution(const query::Profile& profile,
                                                       const query::PlanReport& report,
                                                       const query::PlanPart& part) {
  if (part.executions > 1) return std::nullopt;
  const auto is_of_plan = [&](const profile::ExecutionRecord& each) {
    return each.process == part.process && each.plan == part.plan;
  };
  if (report.execution) {
    const profile::ExecutionRecord* asked =
        profile.execution(report.execution->first, report.execution->second);
    return asked != nullptr && is_of_plan(*asked) ? std::optional(*asked) : std::nullopt;
  }
  std::optional<profile::ExecutionRecord> only;
  for (const profile::ExecutionRecord& each : profile.executions()) {
    if (!is_of_plan(each)) continue;
    if (only) return std::nullopt;
    only = each;
  }
  return only;
}

// Execution facts, where the report is about one.
std::string execution_line(const query::Profile& profile, const query::PlanReport& report,
                           const query::PlanPart& part, const Terminal& terminal) {
  const auto only = only_execution(profile, report, part);
  if (!only) return "";
  std::string out;
  for (const auto& [key, value] : only->labels) {
    if (key == "query" || value.empty()) continue;
    out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", escape_line(key, terminal.ascii),
                       escape_line(value, terminal.ascii));
  }
  if (only->end != kTimeMax && only->end >= only->begin) {
    out += fmt::format("{}{} from begin to end", out.empty() ? "" : ", ",
                       duration(static_cast<double>(only->end - only->begin)));
    out += runs_part(*only);
    if (only->rows_known) out += fmt::format(", {} rows", grouped(only->rows));
  }
  if (!only->error.empty()) out += ", failed: " + escape_line(only->error, terminal.ascii);
  return (out.empty() ? "" : terminal.dim(cut(out, terminal.width, terminal.ascii)) + "\n") +
         blockers_section(profile, *only, terminal);
}

// Who held up the execution that was asked for, where no plan of the report is its plan: it did nothing but
// wait.
std::string waited_section(const query::Profile& profile, const query::PlanReport& report,
                           const Terminal& terminal) {
  if (!report.execution) return "";
  const profile::ExecutionRecord* asked =
      profile.execution(report.execution->first, report.execution->second);
  const bool is_told = std::ranges::any_of(report.plans, [&](const query::PlanPart& part) {
    return only_execution(profile, report, part).has_value();
  });
  const std::string text = asked == nullptr || is_told ? "" : blockers_section(profile, *asked, terminal);
  return text.empty() ? "" : text + "\n";
}

}  // namespace

std::string render(const query::Profile& profile, const query::PlanReport& report, const Terminal& terminal) {
  std::string out;
  if (!profile.narrowed_to().empty()) {
    out += terminal.bold(cut("Only " + escape_line(profile.narrowed_to(), terminal.ascii), terminal.width,
                             terminal.ascii)) +
           "\n";
  }
  out += notices(profile, report, terminal);
  const CostTable table(profile, report, terminal);
  for (const query::PlanPart& part : report.plans) {
    out += plan_heading(profile, report, part.process, part.plan, part.name, terminal);
    out += execution_line(profile, report, part, terminal);
    out += "\n" + operators_section(report, part, table) + beside_line(report, part, terminal) + "\n";
    const std::string pipelines = pipelines_section(part, table);
    if (!pipelines.empty()) out += pipelines + "\n";
  }
  out += waited_section(profile, report, terminal);
  out += sum_section(report, table) + "\n" + off_cpu_section(report, terminal) +
         quality_section(profile, report, terminal);
  const std::string base =
      report.elapsed
          ? "Shares are parts of the elapsed time: each moment is divided evenly among the threads that "
            "worked then; threads: how many that were, on average; skew: the CPU time of the busiest thread "
            "of an execution against the mean of the row's threads (-: chance may explain the difference)"
      : report.base == query::Base::kPlan
          ? "Shares in a plan are parts of its own time (--of everything: of everything in this report)"
          : "Shares are parts of everything in this report";
  out +=
      "\n" +
      terminal.dim(wrap(base + "; an operator's share is its own work, without that of its inputs. With 95 % "
                               "confidence the true share lies in the range.",
                        terminal.width, 0)) +
      "\n";
  return out;
}

std::string render(const query::Profile& profile, const query::LevelReport& report,
                   const Terminal& terminal) {
  const query::PlanReport& summary = report.summary;
  std::string out = notices(profile, summary, terminal);
  const CostTable table(profile, summary, terminal);
  for (const query::LevelReport::Part& part : report.plans) {
    out += plan_heading(profile, summary, part.process, part.plan, part.name, terminal) + "\n";
    out += table.heading(escape_line(report.level, terminal.ascii));
    for (const query::ComponentRow& row : part.rows) {
      out += table.cells(row.cost) + cut(task_title(row, terminal), table.room(), terminal.ascii) + "\n";
    }
    if (part.unknown.amount.weight > 0) {
      out += table.cells(part.unknown) +
             cut("no " + escape_line(report.level, terminal.ascii) + " known", table.room(), terminal.ascii) +
             "\n";
    }
    out += "\n";
  }
  return out + sum_section(summary, table) + "\n" + quality_section(profile, summary, terminal);
}

}  // namespace tailor::cli
