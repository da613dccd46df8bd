// Engines whose agent cannot register, because the kernel does not let it connect to the daemon's socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tailor/v1/control.pb.h"

namespace tailor::cli {

struct BlockedAgent {
  std::int32_t pid = 0;
  std::string comm;  // hostile
  std::string why;   // "its user 1000 may not write to ...": with the remedy
};

// The pids of the engines that are registered.
std::set<std::int32_t> registered_in(const v1::DaemonStatus& status);

// Looks through `proc` for processes with a thread of the agent's name that are not among `registered`, and
// whose user and groups may not write to `socket`. What cannot be read is passed over.
std::vector<BlockedAgent> find_blocked_agents(const std::filesystem::path& proc, const std::string& socket,
                                              const std::set<std::int32_t>& registered);

}  // namespace tailor::cli
