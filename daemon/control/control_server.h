// The daemon's end of the control socket.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// Who asks: the kernel says it.
struct Peer {
  std::uint32_t uid = UINT32_MAX;
};

// Requests are answered one after the other, by the thread that calls poll(). Who may connect is decided by
// the permissions of the socket (0660: the daemon's user and group), what they may do by the handler. Who
// sends what is no request is told so and cut off, as is who does not read his answers; with too many clients
// the one that was silent longest goes.
class ControlServer {
 public:
  using Handler = std::function<v1::ControlReply(const v1::ControlRequest&, const Peer&)>;
  // Somebody was cut off, and why.
  using OnCutOff = std::function<void(const std::string& why)>;
  static constexpr std::size_t kMaxClients = 64;  // unless somebody says otherwise

  // Replaces a socket file that nobody listens on; fails if a daemon does. At most `max_clients` (above 0)
  // are connected at a time.
  static Result<std::unique_ptr<ControlServer>> listen(const std::string& path, Handler handler,
                                                       OnCutOff on_cut_off = {},
                                                       std::size_t max_clients = kMaxClients);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Waits until something arrives, or `other_fd` becomes readable; answers what arrived. Returns true if
  // `other_fd` is readable.
  bool poll(int other_fd, int timeout_ms);

 private:
  ControlServer(UniqueFd listener, std::string path, Handler handler, OnCutOff on_cut_off,
                std::size_t max_clients)
      : listener_(std::move(listener)),
        path_(std::move(path)),
        handler_(std::move(handler)),
        on_cut_off_(std::move(on_cut_off)),
        max_clients_(max_clients) {}
  bool accept_one();
  void cut_off(const std::string& why) const;
  // False if the connection is over.
  bool serve(int client);

  UniqueFd listener_;
  std::string path_;
  Handler handler_;
  OnCutOff on_cut_off_;
  std::size_t max_clients_;
  std::vector<UniqueFd> clients_;  // who spoke last comes last
};

}  // namespace tailor::control
