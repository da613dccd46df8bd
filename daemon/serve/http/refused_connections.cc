#include "daemon/serve/http/refused_connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace tailor::serve {
namespace {

// Users whose connections are closed at the same time. More of them wait for their turn.
constexpr std::size_t kThreadsOfOthers = 64;

}  // namespace

RefusedConnections::RefusedConnections(std::shared_ptr<const UniqueFd> wake, Close close)
    : shared_(std::make_shared<Shared>()), trusted_(1), others_(kThreadsOfOthers) {
  shared_->wake = std::move(wake);
  shared_->close = close ? std::move(close) : [](int fd) { ::close(fd); };
}

void RefusedConnections::close(UniqueFd socket, const ConnectionShares::Guest& guest, std::uint32_t uid) {
  if (!socket) return;
  ::shutdown(socket.get(), SHUT_RDWR);
  ++shared_->count;
  shared_->by_guest.begins(guest.who);
  os::UserThreads& threads = guest.trusted ? trusted_ : others_;
  threads.add(uid, [shared = shared_, who = guest.who, fd = socket.release()] {
    shared->close(fd);
    shared->by_guest.ends(who);
    const std::size_t before = shared->count--;
    if (before != kMost && before != kMost + kReserve) return;
    const std::uint64_t one = 1;
    // It fails only where the counter is full, and then the server is awake.
    (void)!::write(shared->wake->get(), &one, sizeof one);
  });
}

}  // namespace tailor::serve
