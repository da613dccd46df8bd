// What both ends of the control socket share.
#pragma once

#include <google/protobuf/message_lite.h>
#include <sys/un.h>

#include <cstddef>
#include <optional>
#include <string>

#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxReplyBytes = std::size_t{64} << 20;
// What every socket takes as one packet: its buffer has net.core.wmem_max bytes, 208 KiB unless it was
// changed.
inline constexpr std::size_t kMaxInlineBytes = std::size_t{64} << 10;

// Fails for a path that does not fit.
Result<sockaddr_un> socket_address(const std::string& path);

// Sends one message; never raises SIGPIPE.
Status send_message(int socket, const google::protobuf::MessageLite& message);

// Sends a reply of at most kMaxReplyBytes; one that may not fit into the socket's buffer goes in a memory
// file.
Status send_reply(int socket, const v1::ControlReply& reply);

// Waits for one message, `timeout_ms` at most (-1: for ever). False if the peer closed the connection. Fails
// for a message that is too long or cannot be decoded, and when time is up. Descriptors that come with it are
// closed, which takes as long as their sender likes (daemon/control/client_threads.h).
Result<bool> receive_message(int socket, google::protobuf::MessageLite& message, int timeout_ms);

// The same for a reply, wherever it lies.
Result<bool> receive_reply(int socket, v1::ControlReply& reply, int timeout_ms);

}  // namespace tailor::control
