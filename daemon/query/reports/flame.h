// The cost of a selection as a tree: plan > pipeline > operator > task > line > functions > address, in any
// order of these levels.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/time/elapsed_time.h"
#include "proto/base/result.h"

namespace tailor::query {

// Functions are those of the call chain, from the last generated code on it inwards; the whole chain where
// none is generated. Samples without a chain have the function that they were in. The address is that of the
// code that the sample was at: in a file the offset there.
enum class FlameLevel { kPlan, kPipeline, kOperator, kTask, kLine, kFunction, kAddress };

// "plan", "pipeline", "operator", "task", "line", "function", "address".
std::string_view flame_key(FlameLevel level);
// "operator,line" as levels from the outside in. Fails for other keys, and for one that comes twice.
Result<std::vector<FlameLevel>> parse_flame_order(std::string_view text);
// All of them but functions and addresses: the keys above in their order.
std::vector<FlameLevel> default_flame_order();
// Whether functions or addresses are in the order: flame_report_with_functions() has them.
bool has_functions(const std::vector<FlameLevel>& order);

struct FlameNode {
  // As of keys.h; of a line "line:<plan_key>:<number>", of a function "function:<file>:<name>", of an address
  // "address:<path or pid>:<hexadecimal>"; "" of the root, of "rest" and of "idle".
  std::string key;
  // "all", a level's key, "rest", "component", "unattributed"; "idle": no thread worked, of elapsed time.
  std::string kind;
  std::string name;                 // may be hostile
  std::uint32_t id = 0;             // within its plan and level
  double samples = 0, weight = 0;   // with that of its children; the difference is known up to here only
  std::vector<FlameNode> children;  // most expensive first
};

struct FlameReport {
  profile::Source source;
  std::vector<FlameLevel> order;
  FlameNode root;
  bool elapsed = false;  // weights are parts of elapsed time; the root has all of it
};

// Fails if the selection has no samples of its source. `order` names no functions and no addresses.
Result<FlameReport> flame_report(const Profile& profile, const Selection& selection,
                                 std::vector<FlameLevel> order);
// The same of elapsed time.
Result<FlameReport> flame_report(const ElapsedTime& time, std::vector<FlameLevel> order);
// With functions or addresses in `order`. `profile` must have been loaded with LoadOptions::keep_samples and
// LoadOptions::functions. Of its samples those count that `keep` lets through; empty: all.
Result<FlameReport> flame_report_with_functions(const Profile& profile, const Selection& selection,
                                                std::vector<FlameLevel> order,
                                                const std::function<bool(const TimedSample&)>& keep);

}  // namespace tailor::query
