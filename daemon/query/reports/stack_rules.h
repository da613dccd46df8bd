// Rules that turn the call stacks of an engine that knows nothing of Tailor into operators and phases
// (docs/rules.md).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/reports/function_report.h"
#include "daemon/query/sums/named_functions.h"
#include "proto/base/result.h"

namespace tailor::query {

// What a stack belongs to if the pattern of one of its functions matches.
struct StackRule {
  enum class Kind : std::uint8_t { kOperator, kPhase };
  Kind kind = Kind::kOperator;
  std::string name;                    // "Hash join"
  std::vector<std::string> functions;  // patterns of readable names (name_pattern.h)
  // Of an operator: names of operators that call it for themselves. Then its time is theirs.
  std::vector<std::string> part_of;
  // Of a phase: it counts only if the next phase further out is one of these. None: it always counts.
  std::vector<std::string> inside;
};

struct StackRules {
  std::string engine;
  std::vector<std::string> objects;  // patterns of the engine's libraries; none: everything is the engine's
  std::vector<StackRule> rules;
  std::vector<std::string> setters;  // patterns: functions that have no name are called by these

  // The text of a rules file (TOML). The error says where it is wrong, and what was expected.
  static Result<StackRules> parse(std::string_view text);
  // The first rule that one of its patterns makes fit, nothing: none.
  std::optional<std::size_t> match(std::string_view function) const;
};

// Which rule the stacks of a profile fit.
class StacksByRule {
 public:
  // Both must outlive it. `profile` must have been loaded with LoadOptions::functions.
  StacksByRule(const Profile& profile, const StackRules& rules);

  // Functions, innermost first, of a node of FunctionSums::nodes.
  std::vector<std::uint32_t> stack_of(std::uint32_t node) const;
  // A function is in one of the engine's libraries.
  bool touches_engine(const std::vector<std::uint32_t>& stack) const;
  // The rule that decides whose the stack is, nothing: none fits.
  std::optional<std::size_t> rule_of(const std::vector<std::uint32_t>& stack) const;
  const NamedFunctions& names() const { return names_; }

 private:
  const Profile& profile_;
  const StackRules& rules_;
  NamedFunctions names_;
  std::vector<std::optional<std::size_t>> rule_of_;  // by function
  std::vector<bool> inside_;
};

struct RuleReport {
  PlanReport summary;
  std::string engine;
  std::vector<NamedRow> operators, phases;  // most expensive first; kinds without any sample are left out
  Share95 in_operators, in_phases, unexplained;
  Share95 outside;                                 // no frame is in one of the engine's libraries
  std::vector<FunctionRow> unexplained_functions;  // by their own cost: what a rule is missing for
};

// Each sample that has a frame in a library of the engine belongs to the operator of the innermost function
// that an operator's rule fits, or to the next operator further out if the innermost is a part of that one;
// without one, to the phase of the innermost function that a phase's rule fits, if that one is inside of the
// phase that its rule asks for;
// else it is unexplained. `profile` must have been loaded with LoadOptions::functions. Fails as
// plan_report().
Result<RuleReport> rule_report(const Profile& profile, const Selection& selection, const StackRules& rules);

std::string to_json(const Profile& profile, const RuleReport& report);

}  // namespace tailor::query
