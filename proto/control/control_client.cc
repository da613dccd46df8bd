#include "proto/control/control_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"
#include "proto/control/socket_directory.h"

namespace tailor::control {

Result<ControlClient> ControlClient::connect(const std::string& path) {
  auto address = socket_address(path);
  if (!address.ok()) return address.error();
  if (Status own = check_socket_directory(path); !own.ok()) return own.error();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return os_error(fmt::format("socket: {}", std::strerror(errno)), errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    const int code = errno;
    const char* remedy = code == EACCES ? "you may not use it: ask for the daemon's group"
                                        : "is tailord running? TAILOR_CONTROL names another socket";
    // A socket that is not there is a daemon that does not run, and no missing file.
    const ErrorKind kind =
        kind_of_errno(code) == ErrorKind::kDenied ? ErrorKind::kDenied : ErrorKind::kUnavailable;
    return Error{fmt::format("no daemon at {}: {} ({})", path, std::strerror(code), remedy), code, kind};
  }
  return ControlClient(std::move(socket));
}

Result<v1::ControlReply> ControlClient::ask(const v1::ControlRequest& request, int timeout_ms) {
  Status sent = send_message(socket_.get(), request);
  if (!sent.ok()) return sent.error();
  v1::ControlReply reply;
  auto got = receive_reply(socket_.get(), reply, timeout_ms);
  if (!got.ok()) return got.error();
  if (!*got) return os_error("the daemon closed the connection", ECONNRESET);
  if (!reply.error().empty()) return error_of(reply);
  return reply;
}

}  // namespace tailor::control
