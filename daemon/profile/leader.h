// Several processes may work for one execution: the workers of a parallel query have executions of their own,
// whose label "leader_execution" names that of their leader.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/profile/sink.h"

namespace tailor::profile {

inline constexpr std::string_view kLeaderLabel = "leader_execution";

inline std::optional<ExecutionId> parse_execution_id(std::string_view text) {
  ExecutionId id;
  if (text.size() != 2 * id.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < id.bytes.size(); ++i) {
    const char* at = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, id.bytes[i], 16);
    if (error != std::errc() || end != at + 2) return std::nullopt;
  }
  return id;
}

// Whom the execution says it works for.
inline std::optional<ExecutionId> leader_of(const ExecutionRecord& execution) {
  for (const auto& [key, value] : execution.labels) {
    if (key == kLeaderLabel) return parse_execution_id(value);
  }
  return std::nullopt;
}

// Whether `worker`, which names it, may be a part of `leader`: nobody's process works for another user's
// execution, and who works for one leads none.
inline bool may_lead(const ExecutionRecord& leader, const ExecutionRecord& worker) {
  return leader.uid == worker.uid && !leader_of(leader);
}

}  // namespace tailor::profile
