#include "daemon/tailord/inherited_listener.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

namespace tailor::tailord {
namespace {

constexpr int kFirst = 3;  // SD_LISTEN_FDS_START

int socket_option(int socket, int name) {
  int value = -1;
  socklen_t size = sizeof value;
  return ::getsockopt(socket, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
}

// Where a UNIX socket is bound; "" for any other.
std::string bound_path(int socket) {
  sockaddr_un address{};
  socklen_t size = sizeof address;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0) return "";
  if (address.sun_family != AF_UNIX || size <= offsetof(sockaddr_un, sun_path)) return "";
  const std::size_t longest = std::min<std::size_t>(size, sizeof address) - offsetof(sockaddr_un, sun_path);
  return {address.sun_path, ::strnlen(address.sun_path, longest)};
}

}  // namespace

Result<UniqueFd> inherited_listener(const std::string& path) {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  const bool ours = pid != nullptr && count != nullptr && std::to_string(::getpid()) == pid;
  const std::string given = ours ? count : "0";
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  if (given == "0") return UniqueFd();
  if (given != "1")
    return invalid(
        fmt::format("the service manager hands over {} sockets; tailord takes one, the agent socket", given));
  UniqueFd socket(kFirst);
  if (socket_option(kFirst, SO_TYPE) != SOCK_SEQPACKET || socket_option(kFirst, SO_ACCEPTCONN) != 1)
    return invalid(
        "what the service manager hands over is no listening socket of the kind that agents need: "
        "ListenSequentialPacket=");
  if (bound_path(kFirst) != path)
    return invalid(
        fmt::format("the service manager hands over the socket {}, but engines are to register at {}",
                    bound_path(kFirst), path));
  return socket;
}

}  // namespace tailor::tailord
