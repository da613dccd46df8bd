// What a client of the control socket can delay, done on threads of its user.
//
// A packet may hold descriptors. The thread that takes the packet closes them, and so does a thread that
// closes a socket in which the packet lies. It waits then for the peer of a TCP socket with SO_LINGER, or for
// the server of a file of FUSE. The thread that answers requests feeds the watchdog: it must do neither.
// From Linux 6.16 on the kernel refuses such packets (ControlServer::Passed).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "daemon/os/user_threads.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// A request that is being read. Any thread.
class ReadRequest {
 public:
  struct Outcome {
    Result<bool> got;  // of receive_message()
    v1::ControlRequest request;
  };
  // Once.
  void give(Outcome outcome);
  // What was given; nothing yet.
  std::optional<Outcome> take();

 private:
  std::mutex mutex_;
  std::optional<Outcome> outcome_;
};

class ClientThreads {
 public:
  // Stands for close(2), which it is by default; tests delay it.
  using Close = std::function<void(int fd)>;
  // As many connections wait to be closed before nobody may be accepted: each is a descriptor of the daemon.
  static constexpr std::size_t kMostClosing = 256;

  // `wake`: an eventfd, written to when a request was read, and when there is room for connections again.
  explicit ClientThreads(std::shared_ptr<const UniqueFd> wake, Close close = {});
  // Waits for nobody: what is not closed by then is closed by its threads, or when the program ends.
  ~ClientThreads() = default;
  ClientThreads(const ClientThreads&) = delete;
  ClientThreads& operator=(const ClientThreads&) = delete;

  // Reads the request that waits in the socket of a client of this user (of connection_share.h). The socket
  // must be closed by close() alone. Returns at once.
  std::shared_ptr<ReadRequest> read(std::uint32_t user, int socket);

  // Its client is told at once that the connection is over. It is closed after what is being read of its
  // user.
  void close(std::uint32_t user, UniqueFd socket);

  // Too many connections wait to be closed.
  bool is_full() const { return shared_->closing >= kMostClosing; }

 private:
  // Of the threads too, which may live longer.
  struct Shared {
    std::shared_ptr<const UniqueFd> wake;
    Close close;
    std::atomic<std::size_t> closing{0};
  };
  static void wake(const Shared& shared);
  os::UserThreads& threads_of(std::uint32_t user);

  const std::shared_ptr<Shared> shared_;
  // One person may have many users. None of them takes the owner's thread.
  os::UserThreads owner_, others_;
};

// The connection of a client of this user. It ends on a thread of its user.
class ClientSocket {
 public:
  ClientSocket(ClientThreads& threads, std::uint32_t user, UniqueFd socket)
      : threads_(threads), user_(user), socket_(std::move(socket)) {}
  ~ClientSocket() { threads_.close(user_, std::move(socket_)); }
  ClientSocket(const ClientSocket&) = delete;
  ClientSocket& operator=(const ClientSocket&) = delete;
  int get() const { return socket_.get(); }

 private:
  ClientThreads& threads_;
  const std::uint32_t user_;
  UniqueFd socket_;
};

}  // namespace tailor::control
