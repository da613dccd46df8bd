// The daemon's end of the control socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/control/client_threads.h"
#include "daemon/control/late_reply.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// The user that asks, as the kernel says it.
struct Peer {
  std::uint32_t uid = UINT32_MAX;
};

// Requests are answered one after the other, by the thread that calls poll(). The permissions of the socket
// decide who may connect (0660: the daemon's user and group), and the handler decides what they may do. A
// client that sends no request is told so and cut off. So is one that does not read its answers. With too
// many clients, one of the user that has most of them goes (connection_share.h). A long answer comes later.
// Meanwhile the further requests of its asker wait, and those of nobody else. Sockets are read and closed by
// threads of their users, because a client can make the thread that does so wait (client_threads.h).
class ControlServer {
 public:
  // Promises a reply, within that time. Exhausted where too many are promised.
  using Promise = std::function<Result<std::shared_ptr<LateReply>>(std::chrono::milliseconds patience)>;
  // Nothing where it has promised the reply.
  using Handler =
      std::function<std::optional<v1::ControlReply>(const v1::ControlRequest&, const Peer&, const Promise&)>;
  // Somebody was cut off, and why.
  using OnCutOff = std::function<void(const std::string& why)>;
  static constexpr std::size_t kMaxClients = 64;  // unless somebody says otherwise
  static constexpr std::size_t kMaxLate = 48;     // replies that are promised at a time
  // Of these to all users but root and the daemon's, and to one such user.
  static constexpr std::size_t kMaxLateOfOthers = 36, kMaxLateOfUser = 24;

  // What the kernel does with descriptors in requests. Requests need none. kRefused: sending one fails, from
  // Linux 6.16 on. kTaken: they arrive, as on older kernels.
  enum class Passed { kRefused, kTaken };

  // Replaces a socket file that nobody listens on; fails if a daemon does. At most `max_clients` (above 0)
  // are connected at a time. `close`: ClientThreads::Close.
  static Result<std::unique_ptr<ControlServer>> listen(const std::string& path, Handler handler,
                                                       OnCutOff on_cut_off = {},
                                                       std::size_t max_clients = kMaxClients,
                                                       ClientThreads::Close close = {},
                                                       Passed passed = Passed::kRefused);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Waits until something arrives, or `other_fd` becomes readable; answers what arrived. Returns true if
  // `other_fd` is readable.
  bool poll(int other_fd, int timeout_ms);

 private:
  enum class Turn { kSilent, kSpoke, kOver };
  struct Client {
    std::unique_ptr<ClientSocket> socket;
    std::uint32_t user = 0;  // of connection_share.h
    std::shared_ptr<ReadRequest> reading = nullptr;
    std::shared_ptr<LateReply> waits_for = nullptr;
    Turn turn = Turn::kSilent;
  };

  ControlServer(UniqueFd listener, UniqueFd wake, std::string path, Handler handler, OnCutOff on_cut_off,
                std::size_t max_clients, ClientThreads::Close close)
      : listener_(std::move(listener)),
        wake_(std::make_shared<const UniqueFd>(std::move(wake))),
        path_(std::move(path)),
        handler_(std::move(handler)),
        on_cut_off_(std::move(on_cut_off)),
        max_clients_(max_clients),
        threads_(wake_, std::move(close)) {}
  // Whether another client may be accepted. Says so once where none may.
  bool has_room();
  bool accept_one();
  void make_room(std::uint32_t newcomer);
  void cut_off(const std::string& why) const;
  // Until then, or until the first promise is due.
  int timeout_of(int timeout_ms) const;
  Result<std::shared_ptr<LateReply>> promise(Client& client, std::chrono::milliseconds patience) const;
  // `events`: of poll(). Other threads read requests that have arrived, and the answers come when these were
  // read.
  Turn serve(Client& client, short events);
  Turn answer(Client& client, const ReadRequest::Outcome& read);
  Turn settle(Client& client, short events) const;
  Turn send(const Client& client, const v1::ControlReply& reply) const;

  UniqueFd listener_;
  std::shared_ptr<const UniqueFd> wake_;  // readable when a promised reply is there
  std::string path_;
  Handler handler_;
  OnCutOff on_cut_off_;
  std::size_t max_clients_;
  bool was_full_ = false;        // threads_, when somebody last asked
  ClientThreads threads_;        // outlives the sockets
  std::vector<Client> clients_;  // who spoke last comes last
};

}  // namespace tailor::control
