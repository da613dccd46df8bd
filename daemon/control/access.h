// What each user may ask over the control socket (docs/security.md).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "daemon/control/control_server.h"
#include "proto/base/result.h"

namespace tailor::control {

// The user of a process; nothing if there is no such process.
using OwnerOf = std::function<std::optional<std::uint32_t>(std::int32_t pid)>;

// Root and the daemon's user may do everything. Others, who are in the daemon's group or they could not have
// connected, may ask, and may change what is sampled of their own processes only. The error says what is
// denied.
Status check_access(const v1::ControlRequest& request, const Peer& peer, std::uint32_t daemon_uid,
                    const OwnerOf& owner_of);

// The same of who may do this with the processes of some users only.
using IsOwn = std::function<bool(std::uint32_t uid)>;
Status check_own(const v1::ControlRequest& request, const IsOwn& is_own, const OwnerOf& owner_of);

}  // namespace tailor::control
