// Bytes from an agent -> a message that is well-formed, within the limits, and means something. Sans I/O.
#pragma once

#include <cstdint>
#include <string_view>

#include "proto/base/result.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::registration {

// Decodes; says nothing yet about what the message says. The error is one of a peer that does not speak the
// protocol, or of a string that is not UTF-8.
Result<v1::AgentMessage> parse(std::string_view bytes);
// The same, into a message that is empty.
Status parse(std::string_view bytes, v1::AgentMessage& message);

// A packet that only announces a memfd with the real message in it.
bool is_envelope(const v1::AgentMessage& message);

// Checks what can be checked without knowing the process's state: numbers are in range, tables fit together,
// strings are short enough. The error names the part that is wrong.
Status validate(const v1::AgentMessage& message);

}  // namespace tailor::registration
