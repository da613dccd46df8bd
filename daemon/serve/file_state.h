// What of the samples behind a list of executions is damaged (docs/http-api.md, "executions").
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/serve/library.h"

namespace tailor::serve {

// What is looked at, of a store, for one answer.
inline constexpr std::uint64_t kMostCheckedOfRequest = std::uint64_t{256} << 20;
inline constexpr std::uint64_t kMostCheckedOfCommand = std::uint64_t{1} << 30;

// `file` of an answer that reads no samples: of a file as a whole, of a store by the checksums of what holds
// the samples of `rows`. `unchecked_bytes` says how much of that was too much, and `unreadable` which segment
// cannot be read at all.
Result<query::Json> file_state(Library& library, const std::vector<store::ExecutionRow>& rows,
                               std::uint64_t most_bytes, const Stop& stop);
// The same of all samples of the range.
Result<query::Json> file_state_of_time(Library& library, const store::WallRange& range,
                                       std::uint64_t most_bytes, const Stop& stop);

}  // namespace tailor::serve
