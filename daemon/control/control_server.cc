#include "daemon/control/control_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "proto/control/control_client.h"
#include "proto/control/control_socket.h"

namespace tailor::control {
namespace {

constexpr mode_t kSocketMode = 0660;

Error failed(const std::string& what, const std::string& path) {
  return Error{fmt::format("{} {}: {}", what, path, std::strerror(errno)), errno};
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(const std::string& path, Handler handler) {
  auto address = socket_address(path);
  if (!address.ok()) return address.error();
  if (ControlClient::connect(path).ok()) {
    return Error{fmt::format("another daemon listens at {}", path), EADDRINUSE};
  }
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return Error{fmt::format("{} is there and is no socket", path), EEXIST};
    ::unlink(path.c_str());
  }
  UniqueFd listener(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener) return failed("cannot create", path);
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("cannot bind", path);
  }
  if (::chmod(path.c_str(), kSocketMode) != 0) return failed("cannot set the mode of", path);
  if (::listen(listener.get(), 16) != 0) return failed("cannot listen at", path);
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(listener), path, std::move(handler)));
}

ControlServer::~ControlServer() {
  ::unlink(path_.c_str());
}

bool ControlServer::poll(int other_fd, int timeout_ms) {
  std::vector<pollfd> waiting = {{listener_.get(), POLLIN, 0}, {other_fd, POLLIN, 0}};
  for (const UniqueFd& client : clients_) waiting.push_back({client.get(), POLLIN, 0});
  if (::poll(waiting.data(), waiting.size(), timeout_ms) <= 0) return false;
  // From the back: a connection that is over leaves its place to those behind it.
  for (std::size_t i = clients_.size(); i > 0; --i) {
    if (waiting[i + 1].revents != 0 && !serve(clients_[i - 1].get())) {
      clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
  if (waiting[0].revents != 0) accept_one();
  return waiting[1].revents != 0;
}

void ControlServer::accept_one() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return;
  if (clients_.size() >= kMaxClients) clients_.erase(clients_.begin());  // the one that came first
  clients_.push_back(std::move(client));
}

bool ControlServer::serve(int client) {
  v1::ControlRequest request;
  auto got = receive_message(client, request, 0);
  if (got.ok() && !*got) return false;
  v1::ControlReply reply;
  if (got.ok()) {
    reply = handler_(request);
  } else {
    reply.set_error(got.error().message);
  }
  return send_message(client, reply).ok();
}

}  // namespace tailor::control
