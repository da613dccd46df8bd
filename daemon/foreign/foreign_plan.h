// Turns code that a process announced in perf's conventions into a plan dictionary and code objects, so that
// a process without an agent is attributed like every other: its levels are function, or function > line.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "daemon/formats/jit_symbol.h"
#include "proto/base/ids.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::foreign {

// A plan is one message, and one block of a profile. One that has this many functions or lines is left as it
// is, and what comes later goes into a new one.
inline constexpr std::size_t kFunctionsOfAPlan = 512;
inline constexpr std::size_t kLinesOfAPlan = 8192;

// Grows with the symbols. One thread.
class ForeignPlan {
 public:
  // `with_lines`: the plan has a level for source lines; else lines of symbols are passed over.
  // `told_by`: where its symbols come from. Those of a perf map are inferred: nothing says when they were
  // there.
  ForeignPlan(PlanId id, const std::string& name, bool with_lines, v1::ToldBy told_by);

  // The code of one more symbol, whose components are in the plan from then on: functions of one name are one
  // component, numbered as they come. load_tsc 0: the moment at which it is said.
  v1::CodeObject add(const formats::JitSymbol& symbol, CodeId id, std::uint64_t load_tsc);

  // Only its components: where the plan is told before any code.
  void name(const formats::JitSymbol& symbol);

  const v1::Plan& plan() const { return plan_; }
  std::size_t functions() const { return functions_.size(); }
  std::size_t lines() const { return lines_.size(); }
  // Lines beyond kMostLineBytes of memory, which count as line 0 of their function.
  static constexpr std::size_t kMostLineBytes = std::size_t{32} << 20;
  std::uint64_t lines_left_out() const { return lines_left_out_; }

 private:
  ComponentId function_of(const std::string& name);
  ComponentId line_of(ComponentId function, const std::string& file, std::uint32_t line,
                      const std::string& name);
  void describe(int level, ComponentId id, const std::string& name, const char* kind);

  bool with_lines_;
  v1::ToldBy told_by_;
  v1::Plan plan_;
  std::unordered_map<std::string, ComponentId> functions_;
  std::map<std::tuple<ComponentId, std::string, std::uint32_t>, ComponentId> lines_;
  std::size_t line_bytes_ = 0;
  std::uint64_t lines_left_out_ = 0;
};

}  // namespace tailor::foreign
