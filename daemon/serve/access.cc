#include "daemon/serve/access.h"

#include <algorithm>

namespace tailor::serve {

bool Access::sees(const profile::ExecutionRecord& execution) const {
  if (see_all) return true;
  if (metrics_only) return false;
  if (uids && !(execution.uid && uids->contains(*execution.uid))) return false;
  if (labels.empty()) return uids.has_value();
  return std::any_of(labels.begin(), labels.end(), [&](const auto& label) {
    return std::find(execution.labels.begin(), execution.labels.end(), label) != execution.labels.end();
  });
}

std::function<bool(const store::ExecutionRow&)> visible_to(const Access& access) {
  if (access.see_all) return {};
  return [&access](const store::ExecutionRow& row) { return access.sees(row.record); };
}

Status check(Needs needs, const Access& access) {
  if (needs == Needs::kNothing || needs == Needs::kNothingAnywhere) return Ok{};
  if (needs == Needs::kMetrics)
    return access.see_all || access.metrics_only ? Status(Ok{}) : denied("metrics are of all users");
  if (access.metrics_only) return denied("this token is for /metrics only");
  if (needs == Needs::kControl && !access.control)
    return denied("you may not change what the daemon samples (docs/security.md, \"Tokens\")");
  return Ok{};
}

bool sees_sums_of(const Access& access, const std::optional<std::uint32_t>& uid) {
  return access.see_all || (access.labels.empty() && uid && access.uids && access.uids->contains(*uid));
}

std::function<bool(const std::optional<std::uint32_t>&)> sums_visible_to(const Access& access) {
  if (access.see_all) return {};
  return [&access](const std::optional<std::uint32_t>& uid) { return sees_sums_of(access, uid); };
}

}  // namespace tailor::serve
