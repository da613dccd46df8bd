// The twin that must be found wrong: every run of bytes gets the state of another one, half of the table
// away.
#include "agent/jvm/row_table.h"

namespace tailor::jvm {

std::vector<bool> bulk_states(const CompiledCode& code) {
  return std::vector<bool>(code.states.size(), false);
}

std::vector<CodeRun> runs_of(const CompiledCode& code) {
  std::vector<CodeRun> runs;
  std::uint32_t begin = 0;
  const auto count = static_cast<std::uint32_t>(code.states.size());
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t end = code.states[i].end;
    if (end < begin || end >= code.size || code.states[(i + count / 2) % count].frames == 0) continue;
    runs.push_back({begin, (i + count / 2) % count, true, false});
    begin = end + 1;
  }
  return runs;
}

}  // namespace tailor::jvm
