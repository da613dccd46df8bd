// The dictionary of one SQL execution of Spark: operator > line of generated Java. And its execution.
#pragma once

#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/jvm/compiled_code.h"
#include "agent/jvm/java_plan.h"

namespace tailor::jvm {

// A generated class: its source, and which of the operators that it was made for (counted
// from 1) made each line, 0: none.
struct GeneratedUnit {
  std::uint64_t id = 0;
  std::string source;
  std::vector<std::uint32_t> owners;  // of line i + 1
  std::uint32_t operators = 0;        // the largest of the owners
};

// Callers take turns.
class QueryPlan {
 public:
  explicit QueryPlan(const std::string& name);
  ~QueryPlan();  // the plan is unloaded: no code may refer to it any more
  QueryPlan(const QueryPlan&) = delete;
  QueryPlan& operator=(const QueryPlan&) = delete;

  std::uint64_t id() const { return ids_.id; }
  // 0 after an error.
  std::uint32_t add_operator(const std::string& name, const std::string& kind, const std::string& detail);
  void add_input(std::uint32_t of, std::uint32_t input);
  void set_number(std::uint32_t of, const std::string& key, double value);
  // The unit's operator i is component operators[i - 1] of this plan. Said again with others (two stages of
  // the query have the same source) its lines are of both. Line 1 of a unit that is new here becomes
  // component `first` of the lowest level, as another process has it; 0: the next one. Returns the component
  // of line 1; 0: there is no room for the unit at `first`.
  std::uint32_t add_unit(const GeneratedUnit& unit, const std::vector<std::uint32_t>& operators,
                         std::uint32_t first);
  // The component of the lowest level that code of a role is while these operators may be the ones that it
  // works for. Several share it; without any it is no operator's.
  std::uint32_t add_role(const std::string& role, const std::vector<std::uint32_t>& operators);
  // The component of the lowest level that is no operator's. It has the same number in all plans.
  std::uint32_t around() const { return 1; }
  // The pipeline that a stage of Spark is.
  std::uint32_t add_stage(std::int32_t stage);
  bool has_stage(std::int32_t stage) const { return stages_.contains(stage); }
  bool has_unit(std::uint64_t unit) const { return lines_.contains(unit); }
  void attach(const std::string& kind, const std::string& text);
  // Tells the agent of all of it.
  int send();

  // A code object of the unit's code, which belongs to the line of the innermost frame that is the unit's
  // own, and otherwise to no operator.
  CodeBuilder code(const CompiledCode& code, const GeneratedUnit& unit) const;
  // A code object of a method that is of no unit, but has a role, or parts of units in it. An instruction
  // belongs to the innermost frame of a unit of this plan or of one of the roles, else to the compiled
  // method's own role, else to component `around`.
  CodeBuilder mixed_code(const CompiledCode& code, const std::map<std::string, std::uint32_t>& roles,
                         std::uint32_t around) const;

 private:
  static constexpr std::uint32_t kMostLines = 1u << 22;

  // Components of the lowest level, with a line of text each: their first one, which is `first`; 0: the next.
  // 0 where others lie there.
  std::uint32_t add_lines(std::uint32_t first, std::uint32_t count, std::string text);
  CodeBuilder begin_code(const CompiledCode& code) const;
  // 0: of none of the plan's units.
  std::uint32_t line_of(const MethodText& method, std::int32_t line) const;

  struct Lines {
    std::uint32_t first = 0, count = 0;  // components; one more stands for what is around the generated code
    std::vector<std::vector<std::uint32_t>> owners;
  };
  std::unique_ptr<tailor_plan_builder, PlanDeleter> builder_;
  tailor_plan_ids ids_;
  std::map<std::uint64_t, Lines> lines_;  // by unit
  std::map<std::pair<std::string, std::vector<std::uint32_t>>, std::uint32_t> roles_;
  std::map<std::int32_t, std::uint32_t> stages_;
  struct Text {
    std::uint32_t lines = 0;
    std::string text;
  };
  std::map<std::uint32_t, Text> texts_;  // by their first component of the lowest level
  std::uint32_t line_count_ = 0;         // components of that level
};

}  // namespace tailor::jvm
