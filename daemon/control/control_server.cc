#include "daemon/control/control_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "proto/base/errors.h"
#include "proto/control/control_client.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"

namespace tailor::control {
namespace {

constexpr mode_t kSocketMode = 0660;
constexpr int kBacklog = 128;
constexpr int kAcceptsAtOnce = 16;

Error failed(const std::string& what, const std::string& path) {
  return os_error(fmt::format("{} {}: {}", what, path, std::strerror(errno)), errno);
}

// Of who connected, whoever holds the socket now. Nobody, if the kernel does not say.
Peer peer_of(int client) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {credentials.uid};
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(const std::string& path, Handler handler,
                                                             OnCutOff on_cut_off, std::size_t max_clients) {
  auto address = socket_address(path);
  if (!address.ok()) return address.error();
  if (ControlClient::connect(path).ok()) {
    return os_error(fmt::format("another daemon listens at {}", path), EADDRINUSE);
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return os_error(fmt::format("{} is there and is no socket", path), EEXIST);
    ::unlink(path.c_str());
  }
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return failed("cannot create", path);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("cannot bind", path);
  }
  if (::chmod(path.c_str(), kSocketMode) != 0) return failed("cannot set the mode of", path);
  if (::listen(listener.get(), kBacklog) != 0) return failed("cannot listen at", path);
  return std::unique_ptr<ControlServer>(
      new ControlServer(std::move(listener), path, std::move(handler), std::move(on_cut_off), max_clients));
}

ControlServer::~ControlServer() {
  ::unlink(path_.c_str());
}

bool ControlServer::poll(int other_fd, int timeout_ms) {
  std::vector<pollfd> waiting = {{listener_.get(), POLLIN, 0}, {other_fd, POLLIN, 0}};
  for (const UniqueFd& client : clients_) waiting.push_back({client.get(), POLLIN, 0});
  if (::poll(waiting.data(), waiting.size(), timeout_ms) <= 0) return false;
  std::vector<UniqueFd> silent, spoke;
  bool stop = waiting[1].revents != 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    if (waiting[i + 2].revents == 0 || stop) {
      silent.push_back(std::move(clients_[i]));
    } else if (serve(clients_[i].get())) {
      spoke.push_back(std::move(clients_[i]));
    }
    // Others may ask for long: who wants an end waits for one answer at most.
    stop = stop || is_readable(other_fd);
  }
  clients_ = std::move(silent);
  std::move(spoke.begin(), spoke.end(), std::back_inserter(clients_));
  for (int i = 0; waiting[0].revents != 0 && i < kAcceptsAtOnce && accept_one(); ++i) {
  }
  return stop;
}

bool ControlServer::accept_one() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return false;
  if (clients_.size() >= max_clients_) {
    clients_.erase(clients_.begin());
    cut_off("too many clients: the one that was silent longest");
  }
  clients_.push_back(std::move(client));
  return true;
}

bool ControlServer::serve(int client) {
  v1::ControlRequest request;
  auto got = receive_message(client, request, 0);
  if (got.ok() && !*got) return false;
  if (!got.ok()) {
    v1::ControlReply refusal;
    set_error(refusal, got.error());
    (void)send_reply(client, refusal);
    cut_off(got.error().message);
    return false;
  }
  Status sent = send_reply(client, handler_(request, peer_of(client)));
  if (sent.ok()) return true;
  if (sent.error().code == EAGAIN) cut_off("a client does not read its answers");
  return false;
}

void ControlServer::cut_off(const std::string& why) const {
  if (on_cut_off_) on_cut_off_(why);
}

}  // namespace tailor::control
