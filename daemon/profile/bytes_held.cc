#include "daemon/profile/bytes_held.h"

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"

namespace tailor::profile {

std::size_t bytes_held(const ExecutionRecord& execution) {
  std::size_t bytes = execution.error.size();
  for (const auto& [key, value] : execution.labels) bytes += key.size() + value.size();
  if (execution.added != nullptr) bytes += bytes_of(*execution.added);
  if (execution.blockers != nullptr)
    bytes += sizeof(Blockers) + execution.blockers->seen.size() * sizeof(Blocker);
  return bytes;
}

}  // namespace tailor::profile
