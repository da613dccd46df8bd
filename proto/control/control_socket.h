// What both ends of the control socket share.
#pragma once

#include <google/protobuf/message_lite.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>

#include "proto/base/result.h"

namespace tailor::control {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20;

// Fails for a path that does not fit.
Result<sockaddr_un> socket_address(const std::string& path);

// Sends one message; never raises SIGPIPE.
Status send_message(int socket, const google::protobuf::MessageLite& message);

// Waits for one message, `timeout_ms` at most (-1: for ever). False if the peer closed the connection. Fails
// for a message that is too long or cannot be decoded, and when time is up.
Result<bool> receive_message(int socket, google::protobuf::MessageLite& message, int timeout_ms);

}  // namespace tailor::control
