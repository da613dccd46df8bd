#include "daemon/serve/http/socket_bytes.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace tailor::serve {

void SocketBytes::begin_request() {
  read_ = written_ = 0;
  waited_ = {};
  deadline_ = Clock::now() + limits_.read;
}

ssize_t SocketBytes::read(char* to, std::size_t size) {
  if (read_ >= limits_.request_bytes || stopping_) return -1;
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
  if (left.count() <= 0 || !wait(POLLIN, static_cast<int>(left.count()))) return -1;
  const ssize_t got = ::recv(fd_, to, std::min(size, limits_.request_bytes - read_), 0);
  if (got > 0) read_ += static_cast<std::size_t>(got);
  return got;
}

ssize_t SocketBytes::write(const char* from, std::size_t size) {
  if (!wait_for_reader()) return -1;
  const ssize_t sent = ::send(fd_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent > 0) written_ += static_cast<std::size_t>(sent);
  return sent;
}

bool SocketBytes::closed_by_peer() const {
  pollfd each{fd_, POLLRDHUP, 0};
  return stopping_ || (::poll(&each, 1, 0) > 0 && (each.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0);
}

void SocketBytes::end() {
  if (stopping_ || ::shutdown(fd_, SHUT_WR) != 0) return;
  deadline_ = Clock::now() + limits_.linger;
  read_ = 0;
  std::array<char, 4096> away;
  while (read(away.data(), away.size()) > 0) {
  }
}

// Only the time in which the reader was waited for counts: a stream of events may last.
bool SocketBytes::wait_for_reader() const {
  const auto most = limits_.write + std::chrono::milliseconds(written_ * 1000 / limits_.slowest_reader);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(most - waited_);
  if (stopping_ || left.count() <= 0) return false;
  const auto before = Clock::now();
  const bool ready = wait(POLLOUT, static_cast<int>(std::min<std::int64_t>(left.count(), 60'000)));
  waited_ += Clock::now() - before;
  return ready;
}

bool SocketBytes::wait(short events, int timeout_ms) const {
  pollfd each{fd_, events, 0};
  int ready;
  do ready = ::poll(&each, 1, timeout_ms);
  while (ready < 0 && errno == EINTR);
  return ready > 0;
}

}  // namespace tailor::serve
