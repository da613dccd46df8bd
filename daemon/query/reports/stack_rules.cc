#include "daemon/query/reports/stack_rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <utility>

#include "daemon/query/symbols/name_pattern.h"
#include "daemon/query/symbols/set_functions.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMostRules = 1000, kMostPatterns = 10'000;
constexpr std::size_t kMostRows = 100;

Error wrong(const toml::node& at, std::string_view what) {
  return invalid(fmt::format("line {}: {}", at.source().begin.line, what));
}

// Appends the patterns of a list.
Status read_patterns(const toml::array& list, std::size_t& patterns, std::vector<std::string>& out) {
  for (const toml::node& pattern : list) {
    if (!pattern.is_string()) return wrong(pattern, "a pattern is a string: \"duckdb::PhysicalFilter::*\"");
    if (++patterns > kMostPatterns) return wrong(pattern, "there are too many patterns");
    out.emplace_back(**pattern.as_string());
  }
  return Ok{};
}

Status read_rule(const toml::node& node, StackRule::Kind kind, std::size_t& patterns, StackRules& out) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return wrong(node, "a rule is a table: [[operator]] or [[phase]]");
  StackRule rule{kind, {}, {}, {}, {}};
  std::vector<std::string> setters;
  for (const auto& [key, value] : *table) {
    Status read = Ok{};
    if (key == "name" && value.is_string()) {
      rule.name = **value.as_string();
    } else if (key == "functions" && value.is_array()) {
      read = read_patterns(*value.as_array(), patterns, rule.functions);
    } else if (key == "set_by" && value.is_array()) {
      read = read_patterns(*value.as_array(), patterns, setters);
    } else if (key == "part_of" && value.is_array() && kind == StackRule::Kind::kOperator) {
      read = read_patterns(*value.as_array(), patterns, rule.part_of);
    } else if (key == "inside" && value.is_array() && kind == StackRule::Kind::kPhase) {
      read = read_patterns(*value.as_array(), patterns, rule.inside);
    } else {
      read = wrong(value,
                   fmt::format("\"{}\": a rule has a name (text), functions and set_by (lists of patterns), "
                               "and of an operator part_of (a list of operators), of a phase inside (a list "
                               "of phases)",
                               std::string_view(key.str())));
    }
    if (!read) return read.error();
  }
  for (const std::string& setter : setters) rule.functions.push_back(set_by(setter));
  if (rule.name.empty() || rule.functions.empty())
    return wrong(node, "a rule needs a name and at least one pattern in functions or set_by");
  out.rules.push_back(std::move(rule));
  out.setters.insert(out.setters.end(), setters.begin(), setters.end());
  return Ok{};
}

Status read_rules(const toml::node& node, StackRule::Kind kind, std::size_t& patterns, StackRules& out) {
  const toml::array* all = node.as_array();
  if (all == nullptr) return wrong(node, "rules are tables of an array: [[operator]], [[phase]]");
  for (const toml::node& each : *all) {
    if (out.rules.size() >= kMostRules) return wrong(each, "there are too many rules");
    if (Status read = read_rule(each, kind, patterns, out); !read) return read.error();
  }
  return Ok{};
}

bool has_rule(const StackRules& rules, StackRule::Kind kind, std::string_view name) {
  return std::ranges::any_of(rules.rules,
                             [&](const StackRule& rule) { return rule.kind == kind && rule.name == name; });
}

// What a rule is a part of, or inside of, must be in the file: a name that nothing has would never count.
Status check_parts(const StackRules& rules) {
  for (const StackRule& rule : rules.rules) {
    for (const std::string& whole : rule.part_of) {
      if (!has_rule(rules, StackRule::Kind::kOperator, whole))
        return invalid(
            fmt::format("\"{}\" is part_of \"{}\", which is no operator of this file", rule.name, whole));
    }
    for (const std::string& around : rule.inside) {
      if (!has_rule(rules, StackRule::Kind::kPhase, around))
        return invalid(
            fmt::format("\"{}\" is inside \"{}\", which is no phase of this file", rule.name, around));
    }
  }
  return Ok{};
}

bool is_among(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// The phase of a stack, whose rules of phases are met from the innermost function on.
class InnermostPhase {
 public:
  explicit InnermostPhase(const StackRules& rules) : rules_(rules) {}

  void meet(std::size_t rule) {
    if (found_ || rule == waits_) return;
    const StackRule& of = rules_.rules[rule];
    if (waits_ && is_among(rules_.rules[*waits_].inside, of.name)) {
      found_ = waits_;
    } else if (of.inside.empty()) {
      found_ = rule;
    } else {
      waits_ = rule;
    }
  }
  std::optional<std::size_t> found() const { return found_; }

 private:
  const StackRules& rules_;
  std::optional<std::size_t> found_, waits_;  // waits: for the phase that it must be inside of
};

Status read_objects(const toml::node& node, std::vector<std::string>& out) {
  const toml::array* all = node.as_array();
  if (all == nullptr) return wrong(node, "objects is a list of patterns: [\"libengine.so*\"]");
  for (const toml::node& pattern : *all) {
    if (!pattern.is_string()) return wrong(pattern, "a pattern is a string: \"libengine.so*\"");
    if (out.size() >= kMostRules) return wrong(pattern, "there are too many patterns");
    out.emplace_back(**pattern.as_string());
  }
  return Ok{};
}

}  // namespace

Result<StackRules> StackRules::parse(std::string_view text) {
  StackRules out;
  try {
    const toml::table file = toml::parse(text);
    std::size_t patterns = 0;
    for (const auto& [key, value] : file) {
      Status read = Ok{};
      if (key == "engine" && value.is_string()) {
        out.engine = **value.as_string();
      } else if (key == "objects") {
        read = read_objects(value, out.objects);
      } else if (key == "operator") {
        read = read_rules(value, StackRule::Kind::kOperator, patterns, out);
      } else if (key == "phase") {
        read = read_rules(value, StackRule::Kind::kPhase, patterns, out);
      } else {
        read = wrong(
            value, fmt::format("\"{}\" is none of engine (text), objects (patterns), [[operator]], [[phase]]",
                               std::string_view(key.str())));
      }
      if (!read) return read.error();
    }
  } catch (const toml::parse_error& error) {
    return invalid(fmt::format("line {}: {}", error.source().begin.line, error.description()));
  }
  if (out.rules.empty()) return invalid("the file has no rule: [[operator]] or [[phase]]");
  if (Status parts = check_parts(out); !parts) return parts.error();
  return out;
}

std::optional<std::size_t> StackRules::match(std::string_view function) const {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    for (const std::string& pattern : rules[i].functions) {
      if (matches(pattern, function)) return i;
    }
  }
  return std::nullopt;
}

StacksByRule::StacksByRule(const Profile& profile, const StackRules& rules)
    : profile_(profile), rules_(rules), names_(profile, rules.setters) {
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    rule_of_.push_back(rules.match(names_.at(i).name));
    inside_.push_back(rules.objects.empty() ||
                      std::ranges::any_of(rules.objects, [&](const std::string& pattern) {
                        return matches(pattern, names_.at(i).object);
                      }));
  }
}

std::vector<std::uint32_t> StacksByRule::stack_of(std::uint32_t node) const {
  const FunctionSums& sums = profile_.functions();
  std::vector<std::uint32_t> stack;
  for (; node != 0; node = sums.nodes[node].caller) stack.push_back(names_.of_place(sums.nodes[node].place));
  return stack;
}

bool StacksByRule::touches_engine(const std::vector<std::uint32_t>& stack) const {
  return std::ranges::any_of(stack, [this](std::uint32_t function) { return inside_[function]; });
}

std::optional<std::size_t> StacksByRule::rule_of(const std::vector<std::uint32_t>& stack) const {
  InnermostPhase phase(rules_);
  std::optional<std::size_t> part;
  for (std::uint32_t function : stack) {
    const std::optional<std::size_t> rule = rule_of_[function];
    if (!rule || rule == part) continue;
    const StackRule& of = rules_.rules[*rule];
    if (of.kind == StackRule::Kind::kPhase) {
      phase.meet(*rule);
    } else if (part) {
      // It belongs to the operator that calls it next, or to none.
      return is_among(rules_.rules[*part].part_of, of.name) ? rule : part;
    } else if (of.part_of.empty()) {
      return rule;
    } else {
      part = rule;
    }
  }
  return part ? part : phase.found();
}

Result<RuleReport> rule_report(const Profile& profile, const Selection& selection, const StackRules& rules) {
  auto summary = plan_report(profile, selection);
  if (!summary) return summary.error();
  RuleReport report{*std::move(summary), rules.engine, {}, {}, {}, {}, {}, {}, {}};
  const StacksByRule stacks(profile, rules);
  const NamedFunctions& names = stacks.names();
  std::map<std::pair<StackRule::Kind, std::string>, Amount> by_rule;
  std::map<std::uint32_t, Amount> by_function;
  Amount operators, phases, unexplained, outside;
  for (const auto& [key, cell] : profile.function_cells()) {
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (key.source != report.summary.source.index || !selected(selection, process, execution)) continue;
    const std::vector<std::uint32_t> stack = stacks.stack_of(key.node);
    if (stack.empty()) continue;
    CellKey as_cell;
    as_cell.kernel = names.at(stack.front()).kind == Function::Kind::kKernel;
    if (!stacks.touches_engine(stack)) {
      outside.add(cell, as_cell, 1, false);
      continue;
    }
    const auto rule = stacks.rule_of(stack);
    if (!rule) {
      unexplained.add(cell, as_cell, 1, false);
      by_function[stack.front()].add(cell, as_cell, 1, false);
      continue;
    }
    const StackRule& of = rules.rules[*rule];
    (of.kind == StackRule::Kind::kOperator ? operators : phases).add(cell, as_cell, 1, false);
    by_rule[{of.kind, of.name}].add(cell, as_cell, 1, false);
  }
  const Scale scale = scale_of(report.summary);
  for (const auto& [rule, amount] : by_rule) {
    auto& rows = rule.first == StackRule::Kind::kOperator ? report.operators : report.phases;
    rows.push_back({{}, rule.second, rule.second, scale(amount)});
  }
  for (const auto& [function, amount] : by_function) {
    const Function& named = names.at(function);
    report.unexplained_functions.push_back({shown_name(named), named, scale(amount), scale(amount)});
  }
  report.in_operators = scale(operators);
  report.in_phases = scale(phases);
  report.unexplained = scale(unexplained);
  report.outside = scale(outside);
  most_expensive_first(report.operators);
  most_expensive_first(report.phases);
  most_expensive_first(report.unexplained_functions);
  if (report.unexplained_functions.size() > kMostRows) report.unexplained_functions.resize(kMostRows);
  return report;
}

}  // namespace tailor::query
