// A plan dictionary of Java code: method > frame > line. It grows with the code that is compiled; once it is
// large the next code goes to a new one, and it ends with its last code object, so that a JVM that makes and
// drops classes for ever does not make its dictionary grow.
#pragma once

#include <tailor/agent.h>
#include <tailor/dictionary.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "agent/jvm/compiled_code.h"
#include "agent/jvm/row_table.h"

namespace tailor::jvm {

struct PlanDeleter {
  void operator()(tailor_plan_builder* builder) const { tailor_plan_builder_free(builder); }
};
struct CodeDeleter {
  void operator()(tailor_code_builder* builder) const { tailor_code_builder_free(builder); }
};
using CodeBuilder = std::unique_ptr<tailor_code_builder, CodeDeleter>;

// One thread.
class JavaPlan {
 public:
  // `name` is shown in reports. valid() is false where the agent is off.
  explicit JavaPlan(const std::string& name);
  ~JavaPlan();
  JavaPlan(const JavaPlan&) = delete;
  JavaPlan& operator=(const JavaPlan&) = delete;

  bool valid() const { return ids_.id != 0; }
  std::uint64_t id() const { return ids_.id; }

  // Adds what the code needs, and builds its code object, to be loaded after the next send().
  CodeBuilder add(const CompiledCode& code);
  // Tells the agent what was added since the last time. 0 or a negative errno.
  int send();
  std::size_t bytes() const { return bytes_; }  // of a message of it, about

  // Code objects that refer to it; the plan may go when there are none and nothing is added any more.
  std::size_t users = 0;

 private:
  std::uint32_t method(const std::string& name);
  std::uint32_t frame(const std::string& name, const std::string& compiled);
  std::uint32_t line(std::uint32_t frame, const std::string& file, std::int32_t number);
  std::uint32_t component_of(const CompiledCode& code, const InlineFrame& frame);
  void add_rows(tailor_code_builder* builder, const CompiledCode& code);

  std::unique_ptr<tailor_plan_builder, PlanDeleter> builder_;
  tailor_plan_ids ids_;
  std::unordered_map<std::string, std::uint32_t> methods_, frames_;
  std::unordered_map<std::uint64_t, std::uint32_t> lines_;  // frame << 32 | line
  std::size_t bytes_ = 0;
  bool grown_ = true;
};

}  // namespace tailor::jvm
