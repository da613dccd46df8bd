// Closes the descriptors of strangers.
//
// Closing can take as long as their owner likes: a TCP socket with SO_LINGER waits for its peer, a file of
// FUSE for its server. So can throwing away packets that hold such descriptors. The thread that serves all
// agents must do neither: os::UserThreads do it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/os/user_threads.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

class DescriptorCloser {
 public:
  // Stands for close(2), which it is by default; its own tests watch and delay it.
  using Close = std::function<void(int fd)>;

  explicit DescriptorCloser(Close close = {});
  // Waits for nobody: what is not closed by then is closed by its threads, or when the program ends.
  ~DescriptorCloser() = default;
  DescriptorCloser(const DescriptorCloser&) = delete;
  DescriptorCloser& operator=(const DescriptorCloser&) = delete;

  // Something that came from a process of this user. Returns at once. Any thread.
  void close(std::uint32_t uid, UniqueFd descriptor);
  // A connection to such a process. What it holds unread is thrown away first (see discard_unread).
  void close_connection(std::uint32_t uid, UniqueFd socket);

  // What of this user's is not closed yet. Any thread.
  struct Pending {
    std::size_t descriptors = 0, connections = 0;
  };
  Pending pending(std::uint32_t uid) const;

 private:
  class State;
  void add(std::uint32_t uid, UniqueFd fd, bool is_connection);

  std::shared_ptr<State> state_;  // of the threads too, which may live longer
  os::UserThreads threads_;
};

// Whether closing it can never wait: memory files, which all agents pass.
bool is_memory_file(int fd);

}  // namespace tailor::registration
