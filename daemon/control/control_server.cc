#include "daemon/control/control_server.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "daemon/control/connection_share.h"
#include "daemon/os/passed_descriptors.h"
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

// Of the process that connected, wherever the socket is now. Nobody, if the kernel does not say.
Peer peer_of(int client) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(client, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return {};
  return {credentials.uid};
}

std::uint32_t user_of(int client) {
  const std::uint32_t uid = peer_of(client).uid;
  return uid == ::geteuid() ? kOwner : uid;
}

bool is_readable(int fd) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, 0) > 0;
}

}  // namespace

Result<std::unique_ptr<ControlServer>> ControlServer::listen(const std::string& path, Handler handler,
                                                             OnCutOff on_cut_off, std::size_t max_clients,
                                                             ClientThreads::Close close, Passed passed) {
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
  // Nobody has connected yet. Where the kernel cannot do it, threads of the clients' users take what is sent.
  if (passed == Passed::kRefused) (void)os::refuse_passed_descriptors(listener.get());
  if (::bind(listener.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address) != 0) {
    return failed("cannot bind", path);
  }
  if (::chmod(path.c_str(), kSocketMode) != 0) return failed("cannot set the mode of", path);
  if (::listen(listener.get(), kBacklog) != 0) return failed("cannot listen at", path);
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return failed("cannot wait for replies at", path);
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(listener), std::move(wake), path,
                                                          std::move(handler), std::move(on_cut_off),
                                                          max_clients, std::move(close)));
}

ControlServer::~ControlServer() {
  for (const Client& client : clients_) {
    if (client.waits_for != nullptr) client.waits_for->stop()->cancel();
  }
  ::unlink(path_.c_str());
  // Those that nobody has accepted are closed with it.
  threads_.close(kOwner, std::move(listener_));
}

bool ControlServer::poll(int other_fd, int timeout_ms) {
  // poll() passes over a descriptor of -1.
  std::vector<pollfd> waiting = {
      {has_room() ? listener_.get() : -1, POLLIN, 0}, {other_fd, POLLIN, 0}, {wake_->get(), POLLIN, 0}};
  const std::size_t first = waiting.size();
  // Of a client that waits for a promised reply, only the end counts. A thread that has read a request wakes
  // us.
  for (const Client& client : clients_) {
    const auto events = static_cast<short>(client.waits_for == nullptr ? POLLIN : 0);
    waiting.push_back({client.reading == nullptr ? client.socket->get() : -1, events, 0});
  }
  if (::poll(waiting.data(), waiting.size(), timeout_of(timeout_ms)) < 0) return false;
  std::uint64_t replies = 0;
  (void)!::read(wake_->get(), &replies, sizeof replies);
  bool stop = waiting[1].revents != 0;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    const short events = waiting[first + i].revents;
    client.turn = Turn::kSilent;
    if (client.waits_for != nullptr) {
      client.turn = settle(client, events);
    } else if (!stop) {
      client.turn = serve(client, events);
    }
    // Others may ask for long: who wants an end waits for one answer at most.
    stop = stop || is_readable(other_fd);
  }
  // Requests that were read meanwhile have had their wake-up: the next call answers them and must not wait.
  const std::uint64_t one = 1;
  if (stop && !clients_.empty()) (void)!::write(wake_->get(), &one, sizeof one);
  std::erase_if(clients_, [](const Client& client) { return client.turn == Turn::kOver; });
  std::ranges::stable_partition(clients_, [](Turn turn) { return turn == Turn::kSilent; }, &Client::turn);
  for (int i = 0; waiting[0].revents != 0 && i < kAcceptsAtOnce && accept_one(); ++i) {
  }
  return stop;
}

int ControlServer::timeout_of(int timeout_ms) const {
  auto first = Stop::Clock::time_point::max();
  for (const Client& client : clients_) {
    if (client.waits_for != nullptr) first = std::min(first, client.waits_for->stop()->deadline());
  }
  if (first == Stop::Clock::time_point::max()) return timeout_ms;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Stop::Clock::now()).count();
  const int due = static_cast<int>(std::clamp<std::int64_t>(left, 0, INT_MAX));
  return timeout_ms < 0 ? due : std::min(due, timeout_ms);
}

bool ControlServer::has_room() {
  const bool full = threads_.is_full();
  if (full && !was_full_)
    cut_off("nobody can connect: too many connections wait for descriptors that their clients sent");
  was_full_ = full;
  return !full;
}

bool ControlServer::accept_one() {
  UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!client) return false;
  const std::uint32_t user = user_of(client.get());
  if (clients_.size() >= max_clients_) make_room(user);
  clients_.push_back({std::make_unique<ClientSocket>(threads_, user, std::move(client)), user});
  return true;
}

void ControlServer::make_room(std::uint32_t newcomer) {
  std::vector<Connected> connected;
  for (const Client& client : clients_) connected.push_back({client.user, client.waits_for != nullptr});
  const std::size_t index = makes_room(connected, newcomer);
  const auto goes = clients_.begin() + static_cast<std::ptrdiff_t>(index);
  if (goes->waits_for != nullptr) goes->waits_for->stop()->cancel();
  clients_.erase(goes);
  cut_off("too many clients: the one that was silent longest, of the user that has most of them");
}

Result<std::shared_ptr<LateReply>> ControlServer::promise(Client& client,
                                                          std::chrono::milliseconds patience) const {
  const auto promised = [this](const auto& to) {
    return static_cast<std::size_t>(std::ranges::count_if(
        clients_, [&](const Client& each) { return each.waits_for != nullptr && to(each.user); }));
  };
  const auto too_many = [](std::size_t count, const char* whose) {
    return exhausted(
        fmt::format("{} requests{} wait for their answers already; ask again in a moment", count, whose));
  };
  const std::size_t all = promised([](std::uint32_t) { return true; });
  if (all >= kMaxLate) return too_many(all, "");
  if (client.user != kOwner) {
    const std::size_t own = promised([&](std::uint32_t user) { return user == client.user; });
    if (own >= kMaxLateOfUser) return too_many(own, " of your user");
    const std::size_t others = promised([](std::uint32_t user) { return user != kOwner; });
    if (others >= kMaxLateOfOthers) return too_many(others, " of users");
  }
  client.waits_for = std::make_shared<LateReply>(wake_, Stop::Clock::now() + patience);
  return client.waits_for;
}

ControlServer::Turn ControlServer::serve(Client& client, short events) {
  if (client.reading == nullptr) {
    if (events == 0) return Turn::kSilent;
    client.reading = threads_.read(client.user, client.socket->get());
    return Turn::kSpoke;
  }
  const auto read = client.reading->take();
  if (!read) return Turn::kSilent;
  client.reading = nullptr;
  return answer(client, *read);
}

ControlServer::Turn ControlServer::answer(Client& client, const ReadRequest::Outcome& read) {
  if (read.got.ok() && !*read.got) return Turn::kOver;
  if (!read.got.ok()) {
    v1::ControlReply refusal;
    set_error(refusal, read.got.error());
    (void)send_reply(client.socket->get(), refusal);
    cut_off(read.got.error().message);
    return Turn::kOver;
  }
  const auto reply = handler_(read.request, peer_of(client.socket->get()),
                              [&](std::chrono::milliseconds patience) { return promise(client, patience); });
  if (!reply) return Turn::kSpoke;
  client.waits_for = nullptr;
  return send(client, *reply);
}

ControlServer::Turn ControlServer::settle(Client& client, short events) const {
  const std::shared_ptr<Stop>& stop = client.waits_for->stop();
  if ((events & (POLLHUP | POLLERR)) != 0) {
    stop->cancel();
    return Turn::kOver;
  }
  auto reply = client.waits_for->take();
  if (!reply) {
    if (!stop->stopped()) return Turn::kSilent;
    set_error(reply.emplace(), stop->error());
  }
  client.waits_for = nullptr;
  return send(client, *reply);
}

ControlServer::Turn ControlServer::send(const Client& client, const v1::ControlReply& reply) const {
  Status sent = send_reply(client.socket->get(), reply);
  if (sent.ok()) return Turn::kSpoke;
  if (sent.error().code == EAGAIN) cut_off("a client does not read its answers");
  return Turn::kOver;
}

void ControlServer::cut_off(const std::string& why) const {
  if (on_cut_off_) on_cut_off_(why);
}

}  // namespace tailor::control
