#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "daemon/query/reports/growth.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/render_views.h"
#include "viewer/cli/text.h"
#include "viewer/cli/tree_lines.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kCostWidth = 11, kChangeWidth = 10, kIntervalWidth = 19, kWhereWidth = 8;
constexpr std::size_t kNarrowDiff = 76;      // below it the interval goes: names need the room
constexpr std::size_t kVeryNarrowDiff = 60;  // below it the costs go too

// With a space before it, also where it is wider than its column.
std::string apart(const std::string& text, std::size_t width) {
  return columns(text) < width ? pad_left(text, width) : " " + text;
}

// Narrower than weight_text(): the unit is the same in the whole column.
std::string cost_text(double weight, const profile::Source& source) {
  if (source.unit == profile::Unit::kEvents) return grouped(static_cast<std::uint64_t>(std::llround(weight)));
  return duration(weight);
}

class DiffTable {
 public:
  DiffTable(const query::Comparison& both, const Terminal& terminal)
      : both_(both),
        terminal_(terminal),
        a_parts_(query::parts_of(both.executions_a)),
        b_parts_(query::parts_of(both.executions_b)) {}

  std::string heading() const {
    return terminal_.bold((has_costs() ? pad_left("A", kCostWidth) + pad_left("B", kCostWidth) : "") +
                          pad_left("change", kChangeWidth) +
                          (has_interval() ? pad_left("95 %", kIntervalWidth) : "") + "  " +
                          pad("", kWhereWidth) + "operator") +
           "\n";
  }

  // A side without the row has no cost there. `name` is escaped.
  std::string line(const query::Amount* a, const query::Amount* b, std::string_view where,
                   const std::string& name) const {
    const query::SampledCost left =
        query::sampled_cost(both_.a, a == nullptr ? query::Amount{} : *a, a_parts_);
    const query::SampledCost right =
        query::sampled_cost(both_.b, b == nullptr ? query::Amount{} : *b, b_parts_);
    std::optional<query::Growth> grown;
    if (both_.runs_known) grown = query::growth(left, right);
    std::string out;
    if (has_costs())
      out = apart(a == nullptr ? "" : cost_text(left.of_one(), both_.a.source), kCostWidth) +
            apart(b == nullptr ? "" : cost_text(right.of_one(), both_.b.source), kCostWidth);
    std::string change, interval;
    if (grown) {
      change = fmt::format("{:+.1f} %", 100 * (grown->ratio - 1));
      interval = fmt::format("{:+.1f} to {:+.1f} %", 100 * (grown->low - 1), 100 * (grown->high - 1));
    } else if (!both_.intervals_known || !both_.runs_known) {
      interval = "not known";
    } else if (a != nullptr && b != nullptr) {
      interval = "too few samples";
    }
    change = apart(change, kChangeWidth);
    if (grown && grown->grew()) change = terminal_.warn(change);
    if (grown && grown->shrank()) change = terminal_.bar_colour(change);
    out += change + (has_interval() ? terminal_.dim(apart(interval, kIntervalWidth)) : "") + "  " +
           pad(where, kWhereWidth) + name;
    while (out.ends_with(' ')) out.pop_back();
    return out + "\n";
  }

  std::size_t room() const {
    const std::size_t used = (has_costs() ? 2 * kCostWidth : 0) + kChangeWidth +
                             (has_interval() ? kIntervalWidth : 0) + 2 + kWhereWidth;
    return terminal_.width > used + 20 ? terminal_.width - used : 20;
  }

 private:
  bool has_costs() const { return terminal_.width >= kVeryNarrowDiff; }
  bool has_interval() const { return terminal_.width >= kNarrowDiff; }

  const query::Comparison& both_;
  const Terminal& terminal_;
  double a_parts_, b_parts_;
};

std::string side_text(std::string_view letter, const std::string& what, const query::PlanReport& report,
                      std::uint64_t known, const Terminal& terminal) {
  const std::string plan = report.plans.empty() ? "no plan" : report.plans.front().name;
  const auto executions = static_cast<std::uint64_t>(query::parts_of(known));
  const std::string text =
      wrap(fmt::format("{}: {}, {} execution{}, {} in {}", escape_line(what, terminal.ascii),
                       escape_line(plan, terminal.ascii), grouped(executions), executions == 1 ? "" : "s",
                       weight_text(report.total.weight, report.source), samples_text(report.total.samples)),
           terminal.width, 3);
  return terminal.bold(letter) + text.substr(1) + "\n";
}

std::string plans_text(const query::Comparison& both) {
  if (!both.plans_known) return "Some sums do not say of which plan they are.";
  if (both.same_plan) return "The plans are the same.";
  std::size_t moved = 0, fresh = 0, gone = 0;
  for (const query::ComparedOperator& row : both.operators) {
    moved += row.change == query::Change::kMoved ? 1 : 0;
    fresh += row.change == query::Change::kNew ? 1 : 0;
    gone += row.change == query::Change::kGone ? 1 : 0;
  }
  return fmt::format("The plans differ: operators that moved: {}, new in B: {}, gone: {}.", moved, fresh,
                     gone);
}

std::string costs_text(const query::Comparison& both) {
  constexpr std::string_view kText = "Costs are of one execution.";
  if (both.runs_known) return std::string(kText);
  return std::string(kText) +
         " Runs were added up in some, and it is not known how many: so a change of the cost is not known.";
}

}  // namespace

std::string render(const query::Comparison& both, const std::string& name_a, const std::string& name_b,
                   const Terminal& terminal) {
  const DiffTable table(both, terminal);
  std::string out = side_text("A", name_a, both.a, both.executions_a, terminal) +
                    side_text("B", name_b, both.b, both.executions_b, terminal) +
                    wrap(plans_text(both) + " " + costs_text(both), terminal.width, 0) + "\n\n" +
                    table.heading();
  TreeLines lines(terminal);
  for (const query::ComparedOperator& row : both.operators) {
    const query::OperatorRow& shown = row.a ? row.a->row : row.b->row;
    // What is new has its place in the other tree.
    const std::string tree = row.a ? lines.next(shown.depth, shown.last) : "";
    out += table.line(row.a ? &row.a->row.cost.amount : nullptr, row.b ? &row.b->row.cost.amount : nullptr,
                      row.change == query::Change::kMatched ? "" : query::name_of(row.change),
                      cut(tree + escape_line(shown.name, terminal.ascii), table.room(), terminal.ascii));
  }
  for (const query::ComparedRest& row : both.rest) {
    if (row.a.amount.weight <= 0 && row.b.amount.weight <= 0) continue;
    out += table.line(&row.a.amount, &row.b.amount, "",
                      cut(escape_line(row.name, terminal.ascii), table.room(), terminal.ascii));
  }
  out += table.line(&both.a.all.amount, &both.b.all.amount, "", "= everything");
  return out + "\n" +
         wrap(
             "The interval covers the chance of sampling. It does not cover how much two runs of the same "
             "query "
             "differ: compare several executions of each.",
             terminal.width, 2) +
         "\n";
}

}  // namespace tailor::cli
