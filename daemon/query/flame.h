// The cost of a selection as a tree: plan > pipeline > operator > task > line, in any order of these levels.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/costs.h"
#include "daemon/query/profile.h"
#include "proto/base/result.h"

namespace tailor::query {

enum class FlameLevel { kPlan, kPipeline, kOperator, kTask, kLine };

// "plan", "pipeline", "operator", "task", "line".
std::string_view flame_key(FlameLevel level);
// "operator,line" as levels from the outside in. Fails for other keys, and for one that comes twice.
Result<std::vector<FlameLevel>> parse_flame_order(std::string_view text);
// All of them: the keys above in their order.
std::vector<FlameLevel> default_flame_order();

struct FlameNode {
  std::string key;       // as of keys.h; of a line "line:<plan_key>:<number>"; "" of the root and of "rest"
  std::string kind;      // "all", a level's key, "rest", "component", "unattributed"
  std::string name;      // may be hostile
  std::uint32_t id = 0;  // within its plan and level
  double samples = 0, weight = 0;   // with that of its children; the difference is known up to here only
  std::vector<FlameNode> children;  // most expensive first
};

struct FlameReport {
  profile::Source source;
  std::vector<FlameLevel> order;
  FlameNode root;
};

// Fails if the selection has no samples of its source.
Result<FlameReport> flame_report(const Profile& profile, const Selection& selection,
                                 std::vector<FlameLevel> order);

}  // namespace tailor::query
