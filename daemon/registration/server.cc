#include "daemon/registration/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "daemon/registration/limits.h"

namespace tailor::registration {

namespace {

// Tokens of the epoll set: the listener is 0, a connection its id, the end of its process its id with this
// bit.
constexpr std::uint64_t kProcessEnd = std::uint64_t{1} << 63;
constexpr int kBacklog = 128;
constexpr std::size_t kMaxResumes = 256;

Error SystemError(const std::string& what) {
  return {fmt::format("{}: {}", what, std::strerror(errno)), errno};
}

UniqueFd SeqpacketSocket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

UniqueFd OpenSpare() {
  return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
}

// A socket file that nobody listens on any more, left by a daemon that was killed.
bool IsStale(const sockaddr_un& address) {
  struct stat file{};
  if (::lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  UniqueFd probe = SeqpacketSocket();
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
         errno == ECONNREFUSED;
}

}  // namespace

Result<std::unique_ptr<Server>> Server::Listen(ServerOptions options, Sink& sink) {
  std::unique_ptr<Server> server(new Server(std::move(options), sink));
  Status bound = server->Bind();
  if (!bound) return bound.error();
  return server;
}

Status Server::Bind() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket_path.empty() || options_.socket_path.size() >= sizeof(address.sun_path)) {
    return Error{fmt::format("socket path '{}' is empty or longer than {} bytes", options_.socket_path,
                             sizeof(address.sun_path) - 1)};
  }
  std::memcpy(address.sun_path, options_.socket_path.data(), options_.socket_path.size());
  listener_ = SeqpacketSocket();
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  spare_ = OpenSpare();
  if (!listener_ || !epoll_) return SystemError("agent socket");
  int on = 1;
  // Accepted sockets inherit it: no packet can arrive without its sender's credentials.
  if (::setsockopt(listener_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return SystemError("SO_PASSCRED");
  if (IsStale(address)) ::unlink(address.sun_path);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return SystemError(fmt::format("cannot bind {}{}", options_.socket_path,
                                   errno == EADDRINUSE ? " (is another tailord running?)" : ""));
  }
  bound_ = true;
  // Nobody can connect before listen, so the mode is in force from the first connection on.
  if (::chmod(address.sun_path, options_.socket_mode) != 0)
    return SystemError("chmod " + options_.socket_path);
  if (::listen(listener_.get(), kBacklog) != 0) return SystemError("listen on " + options_.socket_path);
  if (!Watch(listener_.get(), 0)) return SystemError("epoll");
  return Ok{};
}

Server::~Server() {
  if (bound_) ::unlink(options_.socket_path.c_str());
}

bool Server::Watch(int fd, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Server::Poll(int timeout_ms) {
  std::array<epoll_event, 64> ready;
  int count = ::epoll_wait(epoll_.get(), ready.data(), static_cast<int>(ready.size()), timeout_ms);
  std::vector<ConnectionId> ended;
  for (int i = 0; i < count; ++i) {
    std::uint64_t token = ready[static_cast<std::size_t>(i)].data.u64;
    if (token == 0) Accept();
    if (token & kProcessEnd) ended.push_back(token & ~kProcessEnd);
  }
  for (auto& [id, connection] : connections_) {
    connection->Step();
  }
  for (ConnectionId id : ended) {
    auto found = connections_.find(id);
    if (found == connections_.end()) continue;
    found->second->ReadToEnd();
    found->second->Finish(GoneReason::kProcessExit, "");
  }
  Reap();
}

void Server::Accept() {
  while (true) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      AcceptOne(std::move(socket));
    } else if ((errno != EMFILE && errno != ENFILE) || !TurnOneAway()) {
      return;
    }
  }
}

// Without descriptors a peer would stay in the backlog and wake us forever.
bool Server::TurnOneAway() {
  spare_.reset();
  bool turned_away = static_cast<bool>(UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC)));
  spare_ = OpenSpare();
  if (turned_away) ++counters_.refused;
  return turned_away;
}

void Server::AcceptOne(UniqueFd socket) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return;
  bool full =
      connections_.size() >= kMaxConnections || ConnectionsOf(credentials.uid) >= kMaxConnectionsOfUser;
  auto process = PeerProcess::Open(options_.proc, credentials);
  if (full || !process) {
    ++counters_.refused;
    return;
  }
  ConnectionId id = next_id_++;
  auto connection = std::make_unique<Connection>(
      id, std::move(socket), std::move(*process), sink_, counters_,
      [this](const Connection& newcomer, const v1::Hello& hello) { return Admit(newcomer, hello); });
  if (!Watch(connection->socket(), id) || !Watch(connection->process().pidfd(), id | kProcessEnd)) {
    ++counters_.refused;
    return;
  }
  ++counters_.connections;
  connections_.emplace(id, std::move(connection));
}

// One agent a process. An agent that comes back may be faster than the news that its last connection ended.
Result<LogPositions> Server::Admit(const Connection& newcomer, const v1::Hello& hello) {
  const ProcessId process = newcomer.process().id();
  for (auto& [id, other] : connections_) {
    if (other.get() == &newcomer || !other->greeted() || other->process().id() != process) continue;
    other->ReadToEnd();
    if (!other->end()) return Error{"this process is registered already"};
    Remember(*other, other->Close());
  }
  auto resume = resumes_.extract({process, hello.session()});
  return resume.empty() ? LogPositions{} : std::move(resume.mapped().positions);
}

void Server::Remember(const Connection& connection, LogPositions positions) {
  if (positions.empty()) return;
  resumes_[{connection.process().id(), connection.session()}] = {++resume_age_, std::move(positions)};
  if (resumes_.size() <= kMaxResumes) return;
  resumes_.erase(std::min_element(resumes_.begin(), resumes_.end(),
                                  [](const auto& a, const auto& b) { return a.second.age < b.second.age; }));
}

void Server::Reap() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection& connection = *it->second;
    if (!connection.end()) {
      ++it;
      continue;
    }
    bool comes_back = connection.end()->reason != GoneReason::kProcessExit;
    LogPositions positions = connection.Close();
    if (comes_back && connection.greeted()) Remember(connection, std::move(positions));
    it = connections_.erase(it);
  }
}

std::size_t Server::ConnectionsOf(std::uint32_t uid) const {
  return static_cast<std::size_t>(
      std::count_if(connections_.begin(), connections_.end(),
                    [&](const auto& entry) { return entry.second->process().uid() == uid; }));
}

void Server::Reply(ConnectionId connection, const v1::DaemonMessage& message) {
  auto found = connections_.find(connection);
  if (found != connections_.end() && !found->second->end()) found->second->Reply(message);
}

void Server::Refuse(ConnectionId connection, const std::string& reason) {
  auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  v1::DaemonMessage refusal;
  refusal.mutable_refusal()->set_reason(reason);
  Reply(connection, refusal);
  ++counters_.refused;
  found->second->Finish(GoneReason::kRefused, reason);
}

}  // namespace tailor::registration
