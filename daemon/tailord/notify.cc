#include "daemon/tailord/notify.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "proto/base/unique_fd.h"

namespace tailor::tailord {

void notify(std::string_view state) {
  const char* path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) return;
  const std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // abstract
  UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket) return;
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  (void)::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&address), size);
}

Watchdog::Watchdog() {
  const char* microseconds = std::getenv("WATCHDOG_USEC");
  const char* pid = std::getenv("WATCHDOG_PID");
  if (microseconds == nullptr || (pid != nullptr && std::to_string(::getpid()) != pid)) return;
  std::uint64_t limit = 0;
  (void)std::from_chars(microseconds, microseconds + std::strlen(microseconds), limit);
  if (limit == 0) return;
  // Twice as often as is needed, as the manual page advises.
  every_ = std::chrono::milliseconds(std::clamp<std::uint64_t>(limit / 2000, 1, INT_MAX));
  next_ = std::chrono::steady_clock::now();
}

int Watchdog::timeout_ms() const {
  if (every_.count() == 0) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next_ - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<std::int64_t>(0, left.count()));
}

void Watchdog::look(bool well) {
  // A daemon that was held up and goes on again is to ping before it is started anew.
  constexpr int kSooner = 10;
  if (well) notify("WATCHDOG=1");
  next_ = std::chrono::steady_clock::now() +
          (well ? every_ : std::max(every_ / kSooner, std::chrono::milliseconds(1)));
}

}  // namespace tailor::tailord
