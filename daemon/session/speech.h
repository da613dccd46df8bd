// What is said of a process that has no agent, as its agent would say it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "daemon/pipeline/input.h"
#include "daemon/registration/events.h"

namespace tailor::session {

// One connection from its hello to its goodbye, or a refusal alone. It is small: its speaker has others
// to look after.
struct Speech {
  using Event = std::variant<registration::PeerConnected, registration::PeerMessage,
                             registration::PeerRejected, registration::PeerGone>;
  std::vector<Event> events;
  std::size_t functions = 0;  // that it names
};

// Says it at the moment `tsc`.
void say(Speech speech, std::uint64_t tsc, pipeline::Input& input);

}  // namespace tailor::session
