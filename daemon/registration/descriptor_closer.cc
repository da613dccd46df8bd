#include "daemon/registration/descriptor_closer.h"

#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "daemon/registration/packet.h"

namespace tailor::registration {
namespace {

// Users whose descriptors are closed at the same time. More of them wait for their turn.
constexpr std::size_t kMostThreads = 16;

}  // namespace

class DescriptorCloser::State {
 public:
  explicit State(Close close) : close_(std::move(close)) {}

  void begin(std::uint32_t uid, bool is_connection) {
    const std::lock_guard lock(mutex_);
    ++count(users_[uid], is_connection);
  }

  void close(std::uint32_t uid, int fd, bool is_connection) {
    if (is_connection) discard_unread(fd);
    close_(fd);
    const std::lock_guard lock(mutex_);
    Pending& left = users_[uid];
    --count(left, is_connection);
    if (left.descriptors + left.connections == 0) users_.erase(uid);
  }

  Pending pending(std::uint32_t uid) const {
    const std::lock_guard lock(mutex_);
    const auto found = users_.find(uid);
    return found == users_.end() ? Pending{} : found->second;
  }

 private:
  static std::size_t& count(Pending& of, bool is_connection) {
    return is_connection ? of.connections : of.descriptors;
  }

  const Close close_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Pending> users_;  // with what is being closed
};

DescriptorCloser::DescriptorCloser(Close close)
    : state_(std::make_shared<State>(close ? std::move(close) : [](int fd) { ::close(fd); })),
      threads_(kMostThreads) {}

void DescriptorCloser::close(std::uint32_t uid, UniqueFd descriptor) {
  add(uid, std::move(descriptor), false);
}

void DescriptorCloser::close_connection(std::uint32_t uid, UniqueFd socket) {
  add(uid, std::move(socket), true);
}

void DescriptorCloser::add(std::uint32_t uid, UniqueFd fd, bool is_connection) {
  if (!fd) return;
  state_->begin(uid, is_connection);
  threads_.add(uid, [state = state_, uid, number = fd.release(), is_connection] {
    state->close(uid, number, is_connection);
  });
}

DescriptorCloser::Pending DescriptorCloser::pending(std::uint32_t uid) const {
  return state_->pending(uid);
}

bool is_memory_file(int fd) {
  return ::fcntl(fd, F_GET_SEALS) >= 0;
}

}  // namespace tailor::registration
