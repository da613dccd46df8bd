#include "daemon/query/stack_rules.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kMostRules = 1000, kMostPatterns = 10'000;
constexpr std::size_t kMostRows = 100;

Error wrong(const toml::node& at, std::string_view what) {
  return invalid(fmt::format("line {}: {}", at.source().begin.line, what));
}

Result<StackRule> read_rule(const toml::node& node, StackRule::Kind kind, std::size_t& patterns) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return wrong(node, "a rule is a table: [[operator]] or [[phase]]");
  StackRule rule{kind, {}, {}};
  for (const auto& [key, value] : *table) {
    if (key == "name" && value.is_string()) {
      rule.name = **value.as_string();
    } else if (key == "functions" && value.is_array()) {
      for (const toml::node& pattern : *value.as_array()) {
        if (!pattern.is_string())
          return wrong(pattern, "a pattern is a string: \"duckdb::PhysicalFilter::*\"");
        if (++patterns > kMostPatterns) return wrong(pattern, "there are too many patterns");
        rule.functions.emplace_back(**pattern.as_string());
      }
    } else {
      return wrong(value, fmt::format("\"{}\": a rule has a name (text) and functions (a list of patterns)",
                                      std::string_view(key.str())));
    }
  }
  if (rule.name.empty() || rule.functions.empty())
    return wrong(node, "a rule needs a name and at least one pattern in functions");
  return rule;
}

Status read_rules(const toml::node& node, StackRule::Kind kind, std::size_t& patterns,
                  std::vector<StackRule>& out) {
  const toml::array* all = node.as_array();
  if (all == nullptr) return wrong(node, "rules are tables of an array: [[operator]], [[phase]]");
  for (const toml::node& each : *all) {
    if (out.size() >= kMostRules) return wrong(each, "there are too many rules");
    auto rule = read_rule(each, kind, patterns);
    if (!rule) return rule.error();
    out.push_back(*std::move(rule));
  }
  return Ok{};
}

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

// Which rule each function fits, if any.
class Sorting {
 public:
  Sorting(const NamedFunctions& names, const StackRules& rules) : rules_(rules) {
    for (std::uint32_t i = 0; i < names.size(); ++i) {
      rule_of_.push_back(rules.match(names.at(i).name));
      inside_.push_back(rules.objects.empty() ||
                        std::ranges::any_of(rules.objects, [&](const std::string& pattern) {
                          return matches(pattern, names.at(i).object);
                        }));
    }
  }
  bool touches_engine(const std::vector<std::uint32_t>& stack) const {
    return std::ranges::any_of(stack, [this](std::uint32_t function) { return inside_[function]; });
  }

  std::optional<std::size_t> of_stack(const std::vector<std::uint32_t>& innermost_first) const {
    std::optional<std::size_t> phase;
    for (std::uint32_t function : innermost_first) {
      const std::optional<std::size_t> rule = rule_of_[function];
      if (!rule) continue;
      if (rules_.rules[*rule].kind == StackRule::Kind::kOperator) return rule;
      if (!phase) phase = rule;
    }
    return phase;
  }

 private:
  const StackRules& rules_;
  std::vector<std::optional<std::size_t>> rule_of_;
  std::vector<bool> inside_;
};

}  // namespace

bool matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0, star = std::string_view::npos, mark = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      mark = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++mark;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

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
        read = read_rules(value, StackRule::Kind::kOperator, patterns, out.rules);
      } else if (key == "phase") {
        read = read_rules(value, StackRule::Kind::kPhase, patterns, out.rules);
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

Result<RuleReport> rule_report(const Profile& profile, const Selection& selection, const StackRules& rules) {
  auto summary = plan_report(profile, selection);
  if (!summary) return summary.error();
  RuleReport report{*std::move(summary), rules.engine, {}, {}, {}, {}, {}, {}, {}};
  const NamedFunctions names(profile);
  const Sorting sorting(names, rules);
  const FunctionSums& sums = profile.functions();
  std::map<std::pair<StackRule::Kind, std::string>, Amount> by_rule;
  std::map<std::uint32_t, Amount> by_function;
  Amount operators, phases, unexplained, outside;
  std::vector<std::uint32_t> stack;
  for (const auto& [key, cell] : profile.function_cells()) {
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (key.source != report.summary.source.index || !selected(selection, process, execution)) continue;
    stack.clear();
    for (std::uint32_t node = key.node; node != 0; node = sums.nodes[node].caller)
      stack.push_back(names.of_place(sums.nodes[node].place));
    if (stack.empty()) continue;
    CellKey as_cell;
    as_cell.kernel = names.at(stack.front()).kind == Function::Kind::kKernel;
    if (!sorting.touches_engine(stack)) {
      outside.add(cell, as_cell, 1, false);
      continue;
    }
    const auto rule = sorting.of_stack(stack);
    if (!rule) {
      unexplained.add(cell, as_cell, 1, false);
      by_function[stack.front()].add(cell, as_cell, 1, false);
      continue;
    }
    const StackRule& of = rules.rules[*rule];
    (of.kind == StackRule::Kind::kOperator ? operators : phases).add(cell, as_cell, 1, false);
    by_rule[{of.kind, of.name}].add(cell, as_cell, 1, false);
  }
  const Scale scale(report.summary.total);
  for (const auto& [rule, amount] : by_rule) {
    auto& rows = rule.first == StackRule::Kind::kOperator ? report.operators : report.phases;
    rows.push_back({{}, rule.second, rule.second, scale(amount)});
  }
  for (const auto& [function, amount] : by_function) {
    const Function& named = names.at(function);
    report.unexplained_functions.push_back(
        {named.name.empty() ? "[unknown]" : named.name, named, scale(amount), scale(amount)});
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
