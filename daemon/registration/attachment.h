// Memory files that agents send. Their owner may still have them open and writable, so the seals are checked
// before anything is read: a file that can shrink would kill a reader of its mapping.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/registration/arena_view.h"
#include "proto/base/result.h"

namespace tailor::registration {

// The `bytes` bytes of a message that was too large for a packet. Demands seals against every change.
Result<std::string> read_payload(int fd, std::uint64_t bytes);

// Maps an arena read-only; `fd` stays the caller's. Demands seals against a change of size. `held` is let go
// with the mapping.
Result<std::shared_ptr<const ArenaView>> map_arena(int fd, std::uint64_t bytes,
                                                   std::shared_ptr<const void> held = {});

}  // namespace tailor::registration
