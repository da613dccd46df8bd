// The dictionary of one SQL execution of Spark: operator > line of generated Java. And its execution.
#pragma once

#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
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
  // the query have the same source) its lines are of both.
  void add_unit(const GeneratedUnit& unit, const std::vector<std::uint32_t>& operators);
  bool has_unit(std::uint64_t unit) const { return lines_.contains(unit); }
  void attach(const std::string& kind, const std::string& text);
  // Tells the agent of all of it.
  int send();

  // A code object of the unit's code, which belongs to the line of the innermost frame that is the unit's
  // own, and otherwise to no operator.
  CodeBuilder code(const CompiledCode& code, const GeneratedUnit& unit) const;

 private:
  struct Lines {
    std::uint32_t first = 0, count = 0;  // components; one more stands for what is around the generated code
    std::vector<std::vector<std::uint32_t>> owners;
  };
  std::unique_ptr<tailor_plan_builder, PlanDeleter> builder_;
  tailor_plan_ids ids_;
  std::map<std::uint64_t, Lines> lines_;  // by unit
  std::string text_;                      // line n is the text of component n of the lowest level
};

}  // namespace tailor::jvm
