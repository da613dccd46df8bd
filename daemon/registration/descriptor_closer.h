// Closes the descriptors of strangers.
//
// Closing can take as long as their owner likes: a TCP socket with SO_LINGER waits for its peer, a file of
// FUSE for its server. So can throwing away packets that hold such descriptors. The thread that closes the
// last descriptor of a memory file, or unmaps it last, frees its pages: gigabytes, if its owner likes. The
// thread that serves all agents must do none of it: os::UserThreads do it. Memory never waits there for a
// descriptor of another kind.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/os/user_threads.h"
#include "daemon/registration/arena_view.h"
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
  // A connection to such a process. Its unread messages are thrown away first (see discard_unread).
  void close_connection(std::uint32_t uid, UniqueFd socket);
  // A memory file that came from such a process.
  void close_memory(std::uint32_t uid, UniqueFd file);
  // A mapping of such a file, with the file: who lets go of it last waits for nothing. Also when this object
  // is gone by then.
  std::shared_ptr<const ArenaView> freed_elsewhere(std::uint32_t uid, std::shared_ptr<const ArenaView> view);

  // What of this user's waits to be closed, or is being closed. Any thread.
  struct Pending {
    std::size_t descriptors = 0, connections = 0, memory_files = 0, mappings = 0;
  };
  Pending pending(std::uint32_t uid) const;

 private:
  class State;
  using Kind = std::size_t Pending::*;
  void add(std::uint32_t uid, UniqueFd fd, Kind kind);

  std::shared_ptr<State> state_;  // of the threads and of mappings too, which may live longer
};

}  // namespace tailor::registration
