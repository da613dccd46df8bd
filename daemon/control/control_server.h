// The daemon's end of the control socket.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"
#include "tailor/v1/control.pb.h"

namespace tailor::control {

// Requests are answered one after the other, by the thread that calls poll(). Who may connect is decided by
// the permissions of the socket (0660: the daemon's user and group).
class ControlServer {
 public:
  using Handler = std::function<v1::ControlReply(const v1::ControlRequest&)>;
  static constexpr std::size_t kMaxClients = 64;

  // Replaces a socket file that nobody listens on; fails if a daemon does.
  static Result<std::unique_ptr<ControlServer>> listen(const std::string& path, Handler handler);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;

  // Waits until something arrives, or `other_fd` becomes readable; answers what arrived. Returns true if
  // `other_fd` is readable.
  bool poll(int other_fd, int timeout_ms);

 private:
  ControlServer(UniqueFd listener, std::string path, Handler handler)
      : listener_(std::move(listener)), path_(std::move(path)), handler_(std::move(handler)) {}
  void accept_one();
  // False if the connection is over.
  bool serve(int client);

  UniqueFd listener_;
  std::string path_;
  Handler handler_;
  std::vector<UniqueFd> clients_;
};

}  // namespace tailor::control
