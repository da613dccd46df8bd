#include "daemon/control/client_threads.h"

#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "daemon/control/connection_share.h"
#include "proto/control/control_socket.h"

namespace tailor::control {
namespace {

// Users whose sockets are read or closed at the same time, beside the owner. More of them wait for their
// turn.
constexpr std::size_t kThreadsOfOthers = 64;

}  // namespace

void ReadRequest::give(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
}

std::optional<ReadRequest::Outcome> ReadRequest::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(outcome_, std::nullopt);
}

ClientThreads::ClientThreads(std::shared_ptr<const UniqueFd> wake, Close close)
    : shared_(std::make_shared<Shared>()), owner_(1), others_(kThreadsOfOthers) {
  shared_->wake = std::move(wake);
  shared_->close = close ? std::move(close) : [](int fd) { ::close(fd); };
}

std::shared_ptr<ReadRequest> ClientThreads::read(std::uint32_t user, int socket) {
  auto reading = std::make_shared<ReadRequest>();
  threads_of(user).add(user, [shared = shared_, reading, socket] {
    v1::ControlRequest request;
    Result<bool> got = receive_message(socket, request, 0);
    reading->give({std::move(got), std::move(request)});
    wake(*shared);
  });
  return reading;
}

void ClientThreads::close(std::uint32_t user, UniqueFd socket) {
  if (!socket) return;
  ::shutdown(socket.get(), SHUT_RDWR);
  ++shared_->closing;
  threads_of(user).add(user, [shared = shared_, fd = socket.release()] {
    shared->close(fd);
    if (shared->closing-- == kMostClosing) wake(*shared);
  });
}

void ClientThreads::wake(const Shared& shared) {
  const std::uint64_t one = 1;
  // It fails only where the counter is full, and then the server is awake.
  (void)!::write(shared.wake->get(), &one, sizeof one);
}

os::UserThreads& ClientThreads::threads_of(std::uint32_t user) {
  return user == kOwner ? owner_ : others_;
}

}  // namespace tailor::control
