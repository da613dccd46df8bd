// Connections for which there is no place, and how they are closed.
//
// The unread messages in such a connection may hold descriptors of its client: a TCP socket with SO_LINGER,
// or a file of FUSE. A thread that closes the connection closes them too, and waits for as long as the client
// likes. The thread that accepts everybody's connections must not: threads of the clients' users do it. From
// Linux 6.16 on the kernel refuses such descriptors (HttpOptions::takes_descriptors).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "daemon/os/user_threads.h"
#include "daemon/serve/http/connection_shares.h"
#include "daemon/serve/http/lingering.h"
#include "proto/base/unique_fd.h"

namespace tailor::serve {

class RefusedConnections {
 public:
  // Stands for close(2), which it is by default; tests delay it.
  using Close = std::function<void(int fd)>;
  // Where this number waits to be closed, strangers must not connect any more: each is a descriptor of the
  // daemon. Further ones may come from the backlog of the listener, and from root and the daemon's user.
  static constexpr std::size_t kMost = 256, kReserve = 64;

  // `wake`: an eventfd, written to when fewer wait than kMost again, or than may wait at all.
  explicit RefusedConnections(std::shared_ptr<const UniqueFd> wake, Close close = {});
  // Waits for nobody: what is not closed by then is closed by its threads, or when the program ends.
  ~RefusedConnections() = default;
  RefusedConnections(const RefusedConnections&) = delete;
  RefusedConnections& operator=(const RefusedConnections&) = delete;

  // Of a guest of the UNIX socket, who is this user. The client is told at once that the connection is over.
  // Returns at once.
  void close(UniqueFd socket, const ConnectionShares::Guest& guest, std::uint32_t uid);

  bool is_full() const { return shared_->count >= kMost; }
  // None may be added: nobody may be accepted who may have to be refused.
  bool has_no_reserve() const { return shared_->count >= kMost + kReserve; }
  // Those that wait, by guest. Any thread.
  std::map<std::string, std::size_t> all() const { return shared_->by_guest.all(); }

 private:
  // Of the threads too, which may live longer.
  struct Shared {
    std::shared_ptr<const UniqueFd> wake;
    Close close;
    std::atomic<std::size_t> count{0};
    Lingering by_guest;
  };

  const std::shared_ptr<Shared> shared_;
  // One person may have many users. None of them takes the thread of root and of the daemon's user.
  os::UserThreads trusted_, others_;
};

}  // namespace tailor::serve
