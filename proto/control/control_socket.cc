#include "proto/control/control_socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace tailor::control {

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return Error{fmt::format("control socket {}: a path of 1 to {} bytes is needed", path,
                             sizeof address.sun_path - 1)};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Status send_message(int socket, const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes) || bytes.size() > kMaxMessageBytes) {
    return Error{fmt::format("control socket: a message of {} bytes is too long", message.ByteSizeLong())};
  }
  ssize_t sent;
  do sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return Error{fmt::format("control socket: {}", std::strerror(errno)), errno};
  return Ok{};
}

Result<bool> receive_message(int socket, google::protobuf::MessageLite& message, int timeout_ms) {
  pollfd waiting{socket, POLLIN, 0};
  int ready;
  do ready = ::poll(&waiting, 1, timeout_ms);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) return Error{"control socket: no answer in time", ETIMEDOUT};
  std::vector<char> bytes(kMaxMessageBytes);
  ssize_t got;
  do got = ::recv(socket, bytes.data(), bytes.size(), MSG_TRUNC);
  while (got < 0 && errno == EINTR);
  if (got < 0) return Error{fmt::format("control socket: {}", std::strerror(errno)), errno};
  if (got == 0) return false;
  if (static_cast<std::size_t>(got) > bytes.size()) return Error{"control socket: a message is too long"};
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(got))) {
    return Error{"control socket: a message cannot be decoded"};
  }
  return true;
}

}  // namespace tailor::control
