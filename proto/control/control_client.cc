#include "proto/control/control_client.h"

#include <fmt/format.h>
#include <grp.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"
#include "proto/control/socket_directory.h"

namespace tailor::control {

namespace {

// A socket that is not there is a daemon that does not run, and no missing file.
ErrorKind kind_of(int code) {
  return kind_of_errno(code) == ErrorKind::kDenied ? ErrorKind::kDenied : ErrorKind::kUnavailable;
}

// Who may use a socket that this user may not use, where that can be seen.
std::string who_may_use(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return "you may not use it: ask for the daemon's group";
  const group* entry = ::getgrgid(info.st_gid);
  const std::string name = entry == nullptr ? std::to_string(info.st_gid) : entry->gr_name;
  return fmt::format("you may not use it: become a member of the group {} and log in again, or be root",
                     name);
}

Result<UniqueFd> open_socket(const std::string& path) {
  auto address = socket_address(path);
  if (!address.ok()) return address.error();
  if (Status own = check_socket_directory(path); !own.ok()) return own.error();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return os_error(fmt::format("socket: {}", std::strerror(errno)), errno);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) == 0)
    return socket;
  const int code = errno;
  std::string text = fmt::format("{}: {}", path, std::strerror(code));
  if (code == EACCES) text += fmt::format(" ({})", who_may_use(path));
  return Error{std::move(text), code, kind_of(code)};
}

}  // namespace

Result<ControlClient> ControlClient::connect(const std::string& path) {
  return connect_first({path});
}

Result<ControlClient> ControlClient::connect_first(const std::vector<std::string>& places) {
  Error failed{"", ENOENT, ErrorKind::kUnavailable};
  for (const std::string& path : places) {
    auto socket = open_socket(path);
    if (socket.ok()) return ControlClient(std::move(*socket));
    const Error& error = socket.error();
    const bool first = failed.message.empty();
    failed.message += (first ? "no daemon at " : "; nor at ") + error.message;
    if (first || error.kind == ErrorKind::kDenied) {
      failed.code = error.code;
      failed.kind = error.kind;
    }
  }
  if (failed.kind != ErrorKind::kDenied)
    failed.message += " (is tailord running? TAILOR_CONTROL names another socket)";
  return failed;
}

std::chrono::milliseconds patience_for(const v1::ControlRequest& request) {
  constexpr std::chrono::seconds kAtOnce{10}, kOnItsWay{5};
  return request.has_status() ? kAtOnce : kLongestChange + kOnItsWay;
}

Result<v1::ControlReply> ControlClient::ask(const v1::ControlRequest& request) {
  return ask(request, patience_for(request));
}

Result<v1::ControlReply> ControlClient::ask(const v1::ControlRequest& request,
                                            std::chrono::milliseconds timeout) {
  Status sent = send_message(socket_.get(), request);
  if (!sent.ok()) return sent.error();
  v1::ControlReply reply;
  auto got = receive_reply(socket_.get(), reply, static_cast<int>(timeout.count()));
  if (!got.ok()) return got.error();
  if (!*got) return os_error("the daemon closed the connection", ECONNRESET);
  if (!reply.error().empty()) return error_of(reply);
  return reply;
}

}  // namespace tailor::control
