#include "daemon/serve/http/http_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "daemon/os/passed_descriptors.h"
#include "daemon/serve/error_json.h"
#include "daemon/serve/http/engine.h"
#include "daemon/serve/http/socket_bytes.h"
#include "proto/base/errors.h"

namespace tailor::serve {
namespace {

constexpr mode_t kSocketMode = 0660, kOwnersMode = 0600;
// Of the threads strangers have three, and each of them two (Shares).
constexpr std::size_t kWorkers = 4;
constexpr std::size_t kMostWaiting = 32;
constexpr std::uint32_t kNobody = UINT32_MAX;  // no user has this number

Error failed(const std::string& what, const std::string& where) {
  return os_error(fmt::format("{} {}: {}", what, where, std::strerror(errno)), errno);
}

// `takes_descriptors`: whether it may, and then whether it does.
Result<UniqueFd> listen_unix(const std::string& path, bool& takes_descriptors) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return invalid(
        fmt::format("{}: the path of a socket has at most {} bytes", path, sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path.data(), path.size());
  UniqueFd probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (probe && ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
    return os_error(fmt::format("another daemon listens at {}", path), EADDRINUSE);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) return os_error(fmt::format("{} is there and is no socket", path), EEXIST);
    ::unlink(path.c_str());
  }
  UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Where the kernel cannot do it, the threads of connections throw them away.
  if (fd && !takes_descriptors) takes_descriptors = !os::refuse_passed_descriptors(fd.get());
  if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return failed("cannot bind", path);
  if (::chmod(path.c_str(), kSocketMode) != 0) return failed("cannot set the mode of", path);
  if (::listen(fd.get(), 32) != 0) return failed("cannot listen at", path);
  return fd;
}

Result<UniqueFd> listen_tcp(const Listener& listener, std::uint16_t& port) {
  const std::string where = fmt::format("{}:{}", listener.address, listener.port);
  sockaddr_storage address{};
  socklen_t size = 0;
  auto& four = reinterpret_cast<sockaddr_in&>(address);
  auto& six = reinterpret_cast<sockaddr_in6&>(address);
  if (::inet_pton(AF_INET, listener.address.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(listener.port);
    size = sizeof four;
  } else if (::inet_pton(AF_INET6, listener.address.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(listener.port);
    size = sizeof six;
  } else {
    return invalid(fmt::format("\"{}\" is no IP address", listener.address));
  }
  UniqueFd fd(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0 || ::listen(fd.get(), 32) != 0)
    return failed("cannot listen at", where);
  size = sizeof address;
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return failed("cannot ask for the port of", where);
  port = ntohs(address.ss_family == AF_INET ? four.sin_port : six.sin6_port);
  return fd;
}

// What is told where there is no room for a connection.
std::string full_answer(std::size_t connections) {
  const std::string body =
      error_json(exhausted(fmt::format("too many connections: all askers have {} together, and each has a "
                                       "share (docs/security.md); close some and ask again",
                                       connections)))
          .dump();
  return fmt::format(
      "HTTP/1.1 429 Too Many Requests\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
      "Retry-After: 1\r\nConnection: close\r\n\r\n{}",
      body.size(), body);
}

// What a local peer sent may hold descriptors, and to close these may take as long as it likes. Nothing more
// can arrive then.
void throw_away_unread(int fd) {
  ::shutdown(fd, SHUT_RDWR);
  char away[4096];
  while (::recv(fd, away, sizeof away, MSG_DONTWAIT) > 0) {
  }
}

// The address without its port; of an IPv4 peer of an IPv6 socket too.
std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = {};
  if (address.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text, sizeof text);
  }
  return text;
}

}  // namespace

HttpServer::HttpServer(Service& service, HttpOptions options, UniqueFd wake)
    : service_(service),
      options_(std::move(options)),
      gate_(options_.gate),
      workers_(kWorkers, kMostWaiting),
      engine_(std::make_unique<HttpEngine>(service_, gate_, workers_, options_, streams_)),
      wake_(std::make_shared<const UniqueFd>(std::move(wake))),
      refused_(wake_, options_.close_refused),
      connections_(options_.connections),
      streams_(options_.streams) {}

std::unique_ptr<HttpServer> HttpServer::without_listeners(Service& service, HttpOptions options) {
  options.listeners.clear();
  return std::unique_ptr<HttpServer>(new HttpServer(service, std::move(options), UniqueFd()));
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(Service& service, HttpOptions options) {
  UniqueFd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake) return os_error(fmt::format("eventfd: {}", std::strerror(errno)), errno);
  std::unique_ptr<HttpServer> server(new HttpServer(service, std::move(options), std::move(wake)));
  for (const Listener& listener : server->options_.listeners) {
    if (Status done = server->open(listener); !done.ok()) return done.error();
  }
  server->acceptor_ = std::thread([raw = server.get()] { raw->accept_loop(); });
  return server;
}

HttpServer::~HttpServer() {
  stopping_ = true;
  if (acceptor_.joinable()) {
    const std::uint64_t one = 1;
    (void)!::write(wake_->get(), &one, sizeof one);
    acceptor_.join();
  }
  for (Open& each : open_) {
    if (each.listener.unix_path.empty()) continue;
    ::unlink(each.listener.unix_path.c_str());
    // Those that nobody has accepted are closed with it.
    refused_.close(std::move(each.fd), {ConnectionShares::Door::kSocket, "", false}, kNobody);
  }
  workers_.end();
  std::unique_lock lock(mutex_);
  for (const auto& [fd, guest] : connections_.open()) ::shutdown(fd, SHUT_RDWR);
  ended_.wait(lock, [this] { return connections_.open().empty(); });
}

Status HttpServer::open(const Listener& listener) {
  std::uint16_t port = 0;
  bool takes_descriptors = options_.takes_descriptors;
  auto fd = listener.unix_path.empty() ? listen_tcp(listener, port)
                                       : listen_unix(listener.unix_path, takes_descriptors);
  if (!fd) return fd.error();
  if (listener.unix_path.empty()) ports_.push_back(port);
  open_.push_back({std::move(*fd), listener, takes_descriptors});
  return Ok{};
}

void HttpServer::accept_loop() {
  while (!stopping_) {
    let_strangers_connect(!refused_.is_full());
    std::vector<pollfd> waiting;
    // poll() passes over a descriptor of -1.
    for (const Open& each : open_) waiting.push_back({may_accept(each) ? each.fd.get() : -1, POLLIN, 0});
    waiting.push_back({wake_->get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
    std::uint64_t woken = 0;
    (void)!::read(wake_->get(), &woken, sizeof woken);
    for (std::size_t i = 0; i < open_.size(); ++i) {
      if (waiting[i].revents != 0 && !stopping_ && may_accept(open_[i])) accept_one(open_[i]);
    }
  }
}

// Connections over TCP bring no descriptors, and are closed at once.
bool HttpServer::may_accept(const Open& from) const {
  if (from.listener.unix_path.empty()) return true;
  return from.takes_descriptors ? !refused_.has_no_reserve() : !refused_.is_full();
}

// Nobody knows whose connection is next before it is accepted. So connections that are slow to close would
// shut out everybody. The kernel asks for the rights to the socket, and knows who connects.
void HttpServer::let_strangers_connect(bool may) {
  if (may == strangers_may_connect_) return;
  strangers_may_connect_ = may;
  for (const Open& each : open_) {
    if (each.takes_descriptors && !each.listener.unix_path.empty())
      (void)::chmod(each.listener.unix_path.c_str(), may ? kSocketMode : kOwnersMode);
  }
}

void HttpServer::accept_one(const Open& from) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  UniqueFd fd(::accept4(from.fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC));
  if (!fd) {
    // Out of descriptors: the next attempt is not to come at once.
    if (errno == EMFILE || errno == ENFILE) ::usleep(10'000);
    return;
  }
  Peer peer{!from.listener.unix_path.empty(), 0, from.listener.metrics_only};
  using Door = ConnectionShares::Door;
  ConnectionShares::Guest guest{peer.metrics_only ? Door::kMetrics : Door::kTcp,
                                "address " + text_of(address), false};
  if (peer.local) {
    ucred who{};
    size = sizeof who;
    if (::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
      return refused_.close(std::move(fd), {Door::kSocket, "", false}, kNobody);
    peer.uid = who.uid;
    const Asker asker = asker_of_user(who.uid);
    guest = {Door::kSocket, asker.who, asker.trusted};
  }
  begin(std::move(fd), peer, guest);
}

void HttpServer::begin(UniqueFd fd, const Peer& peer, const ConnectionShares::Guest& guest) {
  std::lock_guard lock(mutex_);
  if (!has_room_for(guest)) {
    connections_.refused(guest);
    const std::string full = full_answer(connections_.all());
    (void)!::send(fd.get(), full.data(), full.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return refuse(std::move(fd), peer, guest);
  }
  const int number = fd.get();
  connections_.opened(number, guest);
  try {
    std::thread([this, peer, who = guest.who, number] { connection(UniqueFd(number), peer, who); }).detach();
    (void)fd.release();  // it is the thread's
  } catch (const std::system_error&) {
    // No thread is left: the peer sees its connection closed, and may come again.
    connections_.closed(number);
    refuse(std::move(fd), peer, guest);
    ::usleep(10'000);
  }
}

void HttpServer::refuse(UniqueFd fd, const Peer& peer, const ConnectionShares::Guest& guest) {
  if (peer.local) refused_.close(std::move(fd), guest, peer.uid);
}

// Those of one guest that linger have places of their own, a quarter of all.
bool HttpServer::has_room_for(const ConnectionShares::Guest& guest) const {
  const std::size_t share = std::max<std::size_t>(1, connections_.all() / 4);
  return connections_.has_room_for(guest) && (guest.trusted || lingering_->of(guest.who) < share);
}

void HttpServer::connection(UniqueFd fd, const Peer& peer, const std::string& who) {
  {
    SocketBytes stream(fd.get(), stopping_);
    constexpr int kMostRequests = 1000;
    for (int i = 0; i < kMostRequests && !stopping_; ++i) {
      stream.begin_request();
      if (!serve_one(stream, peer)) break;
    }
    stream.end();
  }
  const std::shared_ptr<Lingering> lingering = lingering_;
  {
    // The descriptor is closed after that: its number is not another connection's before it has left the set.
    const std::lock_guard lock(mutex_);
    connections_.closed(fd.get());
    lingering->begins(who);
    ended_.notify_all();
  }
  // From here on the server may be gone.
  if (peer.local) throw_away_unread(fd.get());
  fd.reset();
  lingering->ends(who);
}

std::map<std::string, HttpUse> HttpServer::uses() const {
  std::map<std::string, HttpUse> uses;
  for (const auto& [who, count] : workers_.running().taken()) uses[who].running = count;
  for (const auto& [who, count] : workers_.waiting().taken()) uses[who].waiting = count;
  for (const auto& [who, count] : streams_.taken()) uses[who].streams = count;
  for (const auto& [who, count] : workers_.waiting().refused()) uses[who].refused += count;
  for (const auto& [who, count] : streams_.refused()) uses[who].refused += count;
  const std::lock_guard lock(mutex_);
  for (const auto& [fd, guest] : connections_.open()) ++uses[guest.who].connections;
  for (const auto& [who, count] : lingering_->all()) uses[who].connections += count;
  for (const auto& [who, count] : refused_.all()) uses[who].connections += count;
  for (const auto& [who, count] : connections_.refusals()) uses[who].refused += count;
  return uses;
}

bool HttpServer::serve_one(ByteStream& stream, const Peer& peer) {
  return engine_->serve_one(stream, peer);
}

}  // namespace tailor::serve
