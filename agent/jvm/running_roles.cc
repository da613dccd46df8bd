#include "agent/jvm/running_roles.h"

#include <algorithm>
#include <set>

namespace tailor::jvm {

void RunningRoles::end(std::uint64_t query, std::int32_t stage) {
  const auto found = running_.find({query, stage});
  if (found != running_.end() && --found->second == 0) running_.erase(found);
}

void RunningRoles::set(std::uint64_t query, std::int32_t stage, const std::string& role,
                       const std::vector<std::uint32_t>& operators) {
  std::vector<std::uint32_t>& known = roles_[{query, stage}][role];
  known = operators;
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
}

void RunningRoles::forget(std::uint64_t query) {
  roles_.erase(roles_.lower_bound({query, INT32_MIN}), roles_.upper_bound({query, INT32_MAX}));
}

RunningRoles::Assignment RunningRoles::now() const {
  Assignment out;
  std::map<std::string, std::set<std::uint32_t>> operators;
  std::set<std::string> by_caller;
  for (const auto& [stage, tasks] : running_) {
    if (stage.first == 0 || (out.query != 0 && out.query != stage.first)) return {};
    out.query = stage.first;
    const auto known = roles_.find(stage);
    if (known == roles_.end()) continue;
    for (const auto& [role, numbers] : known->second) {
      operators[role].insert(numbers.begin(), numbers.end());
      if (numbers.empty()) by_caller.insert(role);
    }
  }
  for (const auto& [role, numbers] : operators) {
    if (!by_caller.contains(role)) out.roles[role].assign(numbers.begin(), numbers.end());
  }
  return out;
}

}  // namespace tailor::jvm
