#include "daemon/query/reports/annotate_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMaxLines = 1u << 22;

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty() && lines.size() < kMaxLines) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

// What a hostile plan may cost: steps from lines to their owners, and owners named of a line.
constexpr std::size_t kMostSteps = std::size_t{1} << 23;
constexpr std::size_t kMostNamed = 64;

struct LineSums {
  std::size_t steps = 0;
  std::map<ComponentId, Amount> lines;
  // line > operator: what the line's cost came to on the top level.
  std::map<ComponentId, std::map<ComponentId, Amount>> operators;
  std::map<std::string, std::pair<std::string, Amount>> elsewhere;
};

void add_elsewhere(const Cost& cost, LineSums& sums) {
  const PlanModel& model = *cost.plan;
  const auto level = static_cast<LevelIndex>(cost.lineage->size() - 1);
  for (const Share& owner : cost.lineage->back()) {
    const bool owned = owner.id != kNoComponent;
    const std::string key =
        owned ? fmt::format("{}:{}", model.level_name(level), owner.id) : std::string(cost.reason.key);
    auto& row = sums.elsewhere[key];
    row.first = owned ? fmt::format("shared code on behalf of {} {}", model.level_name(level),
                                    model.component_name(level, owner.id))
                      : std::string(cost.reason.text);
    row.second.add(cost.cell, cost.key, owner.part, cost.lineage->back().size() > 1);
  }
}

void add_line_cost(const Cost& cost, LineSums& sums) {
  const auto lowest = static_cast<LevelIndex>(cost.plan->level_count() - 1);
  if (cost.lineage->size() <= lowest) {
    add_elsewhere(cost, sums);
    return;
  }
  const Owners& lines = cost.lineage->back();
  if (lines.size() == 1 && lines.front().id == kNoComponent) {
    add_elsewhere(cost, sums);
    return;
  }
  for (const Share& line : lines) {
    sums.lines[line.id].add(cost.cell, cost.key, line.part, lines.size() > 1);
    const Owners operators =
        sums.steps > kMostSteps ? Owners{{kNoComponent, 1.0}} : cost.plan->owners_of(lowest, line.id, 0);
    sums.steps += operators.size();
    for (const Share& owner : operators) {
      sums.operators[line.id][owner.id].add(cost.cell, cost.key, line.part * owner.part,
                                            operators.size() > 1);
    }
  }
}

// Keys and names of owners, as many as are named.
void name_owners(const PlanModel& model, ProcessId process, LevelIndex level, const Owners& owners,
                 std::vector<std::string>* keys, std::vector<std::string>* names) {
  std::size_t named = 0;
  for (const Share& owner : owners) {
    if (owner.id == kNoComponent) continue;
    if (++named > kMostNamed) continue;
    if (keys != nullptr) {
      keys->push_back(level == 0 ? operator_key(process, model.plan().id(), owner.id)
                                 : task_key(process, model.plan().id(), owner.id));
    }
    if (names != nullptr) names->push_back(model.component_name(level, owner.id));
  }
  if (named > kMostNamed && names != nullptr) names->push_back(fmt::format("{} more", named - kMostNamed));
}

// The least share of the plan's own time that a hot block has.
constexpr double kHot = 0.05;

struct Scales {
  Scale shown;    // of the report
  Scale of_plan;  // of the plan's own time, whatever is shown
};

// Sums the lines of a block or function below its heading.
class Group {
 public:
  void open(std::size_t heading) {
    heading_ = heading;
    all_ = {};
    operators_.clear();
  }
  void add(const Amount& amount, const std::map<ComponentId, Amount>& operators) {
    all_.add(amount);
    for (const auto& [id, part] : operators) operators_[id].add(part);
  }
  void close(const PlanModel& model, const Scales& scales, std::vector<AnnotatedLine>& lines) {
    if (!heading_) return;
    AnnotatedLine& line = lines[*heading_];
    line.cost = scales.shown(all_);
    line.hot = line.kind == AnnotatedLine::Kind::kBlock && scales.of_plan(all_).interval.low >= kHot;
    for (const auto& [id, amount] : operators_) {
      line.by_operator.emplace_back(id == kNoComponent ? "no operator" : model.component_name(0, id),
                                    scales.shown(amount));
    }
    std::sort(line.by_operator.begin(), line.by_operator.end(), [](const auto& x, const auto& y) {
      const double left = x.second.amount.weight, right = y.second.amount.weight;
      return left != right ? left > right : x.first < y.first;
    });
    heading_.reset();
  }

 private:
  std::optional<std::size_t> heading_;
  Amount all_;
  std::map<ComponentId, Amount> operators_;
};

std::vector<AnnotatedLine> annotate(const PlanModel& model, ProcessId process, std::string_view text,
                                    const LineSums& sums, const Scales& scales) {
  const auto lowest = static_cast<LevelIndex>(model.level_count() - 1);
  std::vector<AnnotatedLine> lines;
  std::size_t steps = 0;
  Group block, function;
  for (std::string_view line_text : split_lines(text)) {
    AnnotatedLine line;
    line.number = static_cast<std::uint32_t>(lines.size() + 1);
    line.text = line_text;
    // What has a cost of its own is no heading, whatever it looks like: no cost may vanish.
    line.kind = sums.lines.contains(line.number) ? AnnotatedLine::Kind::kInstruction : line_kind(line_text);
    if (line.kind == AnnotatedLine::Kind::kFunction || line.kind == AnnotatedLine::Kind::kBlock) {
      block.close(model, scales, lines);
      if (line.kind == AnnotatedLine::Kind::kFunction) function.close(model, scales, lines);
      (line.kind == AnnotatedLine::Kind::kFunction ? function : block).open(lines.size());
      lines.push_back(std::move(line));
      continue;
    }
    if (const auto cost = sums.lines.find(line.number); cost != sums.lines.end()) {
      line.cost = scales.shown(cost->second);
      block.add(cost->second, sums.operators.at(line.number));
      function.add(cost->second, sums.operators.at(line.number));
    }
    if (steps > kMostSteps) {
      line.operators = {std::string(kLineageTooLarge.text)};
    } else {
      const std::vector<Owners> owners = model.lineage(lowest, line.number << 1, {});
      for (const Owners& each : owners) steps += each.size();
      name_owners(model, process, 0, owners[0], &line.operator_keys, &line.operators);
      if (const LevelIndex tasks = task_level(model); tasks > 0 && tasks < lowest)
        name_owners(model, process, tasks, owners[tasks], &line.task_keys, nullptr);
      if (lowest >= 2) name_owners(model, process, lowest - 1, owners[lowest - 1], nullptr, &line.tasks);
    }
    lines.push_back(std::move(line));
  }
  block.close(model, scales, lines);
  function.close(model, scales, lines);
  return lines;
}

Result<const PlanPart*> choose_plan(const PlanReport& summary, PlanId plan) {
  for (const PlanPart& part : summary.plans) {
    if (plan == 0 || part.plan == plan) return &part;
  }
  if (plan != 0) return not_found(fmt::format("there is no sample of plan {} in this selection", plan));
  return not_found("no sample of this selection belongs to generated code");
}

}  // namespace

AnnotatedLine::Kind line_kind(std::string_view text) {
  if (text.starts_with("define ")) return AnnotatedLine::Kind::kFunction;
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos || text[first] == ';') return AnnotatedLine::Kind::kOther;
  if (first > 0) return AnnotatedLine::Kind::kInstruction;
  // A label may be followed by a comment that names its predecessors.
  std::string_view code = text.substr(0, text.find(';'));
  code = code.substr(0, code.find_last_not_of(" \t") + 1);
  return code.ends_with(':') ? AnnotatedLine::Kind::kBlock : AnnotatedLine::Kind::kOther;
}

Result<AnnotateReport> annotate_report(const Profile& profile, const Selection& selection, PlanId plan) {
  auto summary = plan_report(profile, selection);
  if (!summary) return summary.error();
  const auto chosen = choose_plan(*summary, plan);
  if (!chosen) return chosen.error();
  const PlanPart part = **chosen;
  const PlanModel& model = *profile.plan(part.process, part.plan);
  const std::string* text = profile.attachment(part.process, part.plan, "ir");
  if (text == nullptr) {
    return not_found(
        fmt::format("the engine attached no \"ir\" text to plan \"{}\"; `tailor report --level {}` shows the "
                    "same costs as a table",
                    part.name, model.level_name(model.level_count() - 1)));
  }
  LineSums sums;
  for_each_cost(profile, selection, summary->source.index, [&](const Cost& cost) {
    const bool wanted =
        cost.what == Cost::Class::kPlan && cost.key.process == part.process && cost.key.plan == part.plan;
    if (wanted) add_line_cost(cost, sums);
  });
  const Scale scale = scale_within(*summary, part);
  AnnotateReport report{std::move(*summary),
                        part.process,
                        part.plan,
                        part.name,
                        model.level_name(model.level_count() - 1),
                        annotate(model, part.process, *text, sums, {scale, scale_of_own(part)}),
                        {},
                        {}};
  report.machine_code =
      machine_code(profile, selection, report.summary.source.index, part.process, part.plan, scale);
  for (const auto& [key, row] : sums.elsewhere) {
    report.elsewhere.push_back({part.process, key, row.first, scale(row.second)});
  }
  // Components that the text has no line for.
  Amount beyond;
  for (auto it = sums.lines.upper_bound(static_cast<ComponentId>(report.lines.size()));
       it != sums.lines.end(); ++it) {
    beyond.add(it->second);
  }
  if (beyond.weight > 0) {
    report.elsewhere.push_back(
        {part.process, "beyond_text", "components beyond the end of the text", scale(beyond)});
  }
  most_expensive_first(report.elsewhere);
  return report;
}

}  // namespace tailor::query
