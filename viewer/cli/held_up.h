// Who waits for a lock now, and who holds it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/store/catalogue.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Whether the execution runs and was seen to wait for a lock, now or before.
bool may_be_held_up(const store::ExecutionRow& row);

// The executions that wait for a lock now, as far as was seen, as a tree: below each process that holds a
// lock stand those that wait for it, and below these those that wait for them. The longest wait comes first,
// and there are at most a few lines. `now_wall_ns`: CLOCK_REALTIME.
std::vector<std::string> held_up_lines(const std::vector<store::ExecutionRow>& rows,
                                       std::uint64_t now_wall_ns, const Terminal& terminal);

}  // namespace tailor::cli
