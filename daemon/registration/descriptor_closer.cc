#include "daemon/registration/descriptor_closer.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <utility>

#include "daemon/registration/packet.h"

namespace tailor::registration {
namespace {

// Users whose descriptors are closed at the same time, and those whose memory is freed. More of them wait for
// their turn.
constexpr std::size_t kMostThreads = 16;

}  // namespace

class DescriptorCloser::State {
 public:
  explicit State(Close close)
      : close_(std::move(close)), threads_(kMostThreads), memory_threads_(kMostThreads) {}

  // Does it on a thread of this user. `kind`: as what it counts until then.
  void add(std::uint32_t uid, Kind kind, std::shared_ptr<State> self, std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      ++(users_[uid].*kind);
    }
    const bool is_memory = kind == &Pending::memory_files || kind == &Pending::mappings;
    os::UserThreads& threads = is_memory ? memory_threads_ : threads_;
    threads.add(uid, [self = std::move(self), uid, kind, work = std::move(work)]() mutable {
      work();
      work = nullptr;
      self->done(uid, kind);
    });
  }

  void close(int fd) const { close_(fd); }

  Pending pending(std::uint32_t uid) const {
    const std::lock_guard lock(mutex_);
    const auto found = users_.find(uid);
    return found == users_.end() ? Pending{} : found->second;
  }

 private:
  void done(std::uint32_t uid, Kind kind) {
    const std::lock_guard lock(mutex_);
    Pending& left = users_[uid];
    --(left.*kind);
    if (left.descriptors + left.connections + left.memory_files + left.mappings == 0) users_.erase(uid);
  }

  const Close close_;
  // Memory has threads of its own: to free it ends some time, and all agents pass it. Those of strange
  // descriptors may wait for ever, and one person may have many users.
  os::UserThreads threads_, memory_threads_;
  mutable std::mutex mutex_;
  std::map<std::uint32_t, Pending> users_;  // with what is being closed
};

DescriptorCloser::DescriptorCloser(Close close)
    : state_(std::make_shared<State>(close ? std::move(close) : [](int fd) { ::close(fd); })) {}

void DescriptorCloser::close(std::uint32_t uid, UniqueFd descriptor) {
  add(uid, std::move(descriptor), &Pending::descriptors);
}

void DescriptorCloser::close_connection(std::uint32_t uid, UniqueFd socket) {
  add(uid, std::move(socket), &Pending::connections);
}

void DescriptorCloser::close_memory(std::uint32_t uid, UniqueFd file) {
  add(uid, std::move(file), &Pending::memory_files);
}

void DescriptorCloser::add(std::uint32_t uid, UniqueFd fd, Kind kind) {
  if (!fd) return;
  const bool is_connection = kind == &Pending::connections;
  state_->add(uid, kind, state_, [state = state_, number = fd.release(), is_connection] {
    if (is_connection) discard_unread(number);
    state->close(number);
  });
}

std::shared_ptr<const ArenaView> DescriptorCloser::freed_elsewhere(std::uint32_t uid,
                                                                   std::shared_ptr<const ArenaView> view) {
  const ArenaView* const raw = view.get();
  return {raw, [state = state_, uid, view = std::move(view)](const ArenaView*) mutable {
            state->add(uid, &Pending::mappings, state, [view = std::move(view)]() mutable { view.reset(); });
          }};
}

DescriptorCloser::Pending DescriptorCloser::pending(std::uint32_t uid) const {
  return state_->pending(uid);
}

}  // namespace tailor::registration
