#include "daemon/registration/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "daemon/registration/limits.h"
#include "proto/base/errors.h"

namespace tailor::registration {

namespace {

// Tokens of the epoll set: the listener is 0, a connection its id, the end of its process its id with this
// bit.
constexpr std::uint64_t kProcessEnd = std::uint64_t{1} << 63;
constexpr std::uint64_t kWakeUp = ~std::uint64_t{0};
constexpr int kBacklog = 128;
// An agent that has said no more than this of late (see ReadingOrder) can wait for the next call: its socket
// has room for what it says until then.
constexpr double kLittle = 2 << 20;
// A Hello waits until somebody else's is handled, which takes some time.
constexpr int kHelloWaitMs = 10;

Error system_error(const std::string& what) {
  return {fmt::format("{}: {}", what, std::strerror(errno)), errno};
}

UniqueFd seqpacket_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A socket file that nobody listens on any more, left by a daemon that was killed.
bool is_stale(const sockaddr_un& address) {
  struct stat file{};
  if (::lstat(address.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode)) return false;
  UniqueFd probe = seqpacket_socket();
  return ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 &&
         errno == ECONNREFUSED;
}

// Members of the group may connect.
Status give_to_group(const std::string& path, const std::string& group) {
  if (group.empty()) return Ok{};
  std::vector<char> room(65536);
  ::group entry{};
  ::group* found = nullptr;
  const int error = ::getgrnam_r(group.c_str(), &entry, room.data(), room.size(), &found);
  if (found == nullptr) {
    return Error{fmt::format("there is no group '{}' to give {} to", group, path), error,
                 ErrorKind::kInvalid};
  }
  if (::lchown(path.c_str(), static_cast<uid_t>(-1), found->gr_gid) == 0) return Ok{};
  return system_error(fmt::format("cannot give {} to the group '{}'", path, group));
}

// Of `most` and what the daemon may have at all. A quarter of that is left to other users.
std::size_t share_of_descriptors(std::size_t most) {
  rlimit allowed{};
  if (::getrlimit(RLIMIT_NOFILE, &allowed) != 0 || allowed.rlim_cur == RLIM_INFINITY) return most;
  return std::min<std::size_t>(most, allowed.rlim_cur / 4 * 3);
}

}  // namespace

Server::Server(ServerOptions options, Sink& sink)
    : options_(std::move(options)),
      sink_(sink),
      wakeup_(std::make_shared<const Wakeup>()),
      closer_(options_.close),
      reader_(kLargeBytesOfUser, wakeup_),
      shares_{std::make_shared<UserCounts>(share_of_descriptors(options_.user_descriptors)),
              std::make_shared<UserCounts>(options_.user_dictionaries)},
      user_messages_(options_.user_messages_a_second) {}

Result<std::unique_ptr<Server>> Server::listen(ServerOptions options, Sink& sink) {
  std::unique_ptr<Server> server(new Server(std::move(options), sink));
  Status bound = server->bind();
  if (!bound) return bound.error();
  return server;
}

Status Server::bind() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_ || !wakeup_->ok()) return system_error("agent socket");
  Status listening =
      options_.inherited_listener >= 0 ? take_over(options_.inherited_listener) : make_listener();
  if (!listening.ok()) return listening;
  if (!watch(listener_.get(), 0) || !watch(wakeup_->descriptor(), kWakeUp)) return system_error("epoll");
  return Ok{};
}

Status Server::take_over(int listener) {
  listener_.reset(listener);
  const int on = 1;
  // What agents wrote before this carries its sender too, if the socket's maker saw to it (PassCredentials=).
  if (::setsockopt(listener, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return system_error("SO_PASSCRED");
  if (::fcntl(listener, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(listener, F_SETFL, O_NONBLOCK) != 0)
    return system_error("inherited agent socket");
  return Ok{};
}

Status Server::make_listener() {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (options_.socket_path.empty() || options_.socket_path.size() >= sizeof(address.sun_path)) {
    return invalid(fmt::format("socket path '{}' is empty or longer than {} bytes", options_.socket_path,
                               sizeof(address.sun_path) - 1));
  }
  std::memcpy(address.sun_path, options_.socket_path.data(), options_.socket_path.size());
  listener_ = seqpacket_socket();
  if (!listener_) return system_error("agent socket");
  int on = 1;
  // Accepted sockets inherit it: no packet can arrive without its sender's credentials.
  if (::setsockopt(listener_.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) != 0)
    return system_error("SO_PASSCRED");
  if (is_stale(address)) ::unlink(address.sun_path);
  if (::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return system_error(fmt::format("cannot bind {}{}", options_.socket_path,
                                    errno == EADDRINUSE ? " (is another tailord running?)" : ""));
  }
  bound_ = true;
  // Nobody can connect before listen, so the mode is in force from the first connection on.
  if (Status given = give_to_group(options_.socket_path, options_.socket_group); !given) return given;
  if (::chmod(address.sun_path, options_.socket_mode) != 0)
    return system_error("chmod " + options_.socket_path);
  if (::listen(listener_.get(), kBacklog) != 0) return system_error("listen on " + options_.socket_path);
  return Ok{};
}

Server::~Server() {
  if (bound_) ::unlink(options_.socket_path.c_str());
}

bool Server::watch(int fd, std::uint64_t token) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = token;
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

// The closer may hold a socket for long, and what ended on it would wake us all the time.
void Server::unwatch(int fd) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Server::wait(int timeout_ms) {
  // Room for all: who is not told of now would have to wait until the next call.
  std::vector<epoll_event> events(2 * connections_.size() + 2);
  if (hello_waits_) timeout_ms = std::min(timeout_ms, kHelloWaitMs);
  if (unfinished_) timeout_ms = 0;
  if (!listens_) listens_ = spare_.refill() && watch(listener_.get(), 0);
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  sink_.on_awake();
  bool newcomers = false;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t token = events[static_cast<std::size_t>(i)].data.u64;
    newcomers = newcomers || token == 0;
    if (token == kWakeUp) {
      wakeup_->clear();
      continue;
    }
    const auto found = connections_.find(token & ~kProcessEnd);
    if (found == connections_.end()) continue;
    if ((token & kProcessEnd) == 0) {
      found->second->ready = true;
      continue;
    }
    // Its end is told once; what it sent before is still read, in turn.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, found->second->process().pidfd(), nullptr);
    found->second->process_ended();
    found->second->ready = true;
  }
  if (newcomers) accept();
}

void Server::poll(int timeout_ms) {
  wait(timeout_ms);
  hellos_left_ = kHellosAPoll;
  std::vector<Connection*> connections;
  for (auto& [id, connection] : connections_) connections.push_back(connection.get());
  if (connections.empty()) {
    unfinished_ = hello_waits_ = false;
    return;
  }
  std::ranges::rotate(connections,
                      connections.begin() + static_cast<std::ptrdiff_t>(++first_ % connections.size()));
  for (Connection* connection : connections) connection->advance_mark();
  order_.fade(connections, ReadingOrder::Clock::now());
  read_messages(connections);
  for (Connection* connection : connections) connection->try_settle();
  read_logs(connections);
  for (Connection* connection : connections) {
    connection->try_settle();
    fullest_log_ = std::max(fullest_log_, connection->take_fullest_log());
  }
  reap();
}

std::uint32_t Server::least_log() const {
  std::uint32_t least = UINT32_MAX;
  for (const auto& [id, connection] : connections_) least = std::min(least, connection->least_log());
  return least;
}

void Server::read_messages(std::vector<Connection*>& connections) {
  std::vector<Connection*> unread;
  for (Connection* connection : connections) {
    if (connection->ready || !connection->ends_waits || connection->paused || connection->unwatched ||
        connection->has_waiting() || connection->has_more())
      unread.push_back(connection);
  }
  std::size_t messages = kMessagesAPoll, bytes = kBytesAPoll;
  for (bool large = false; messages > 0 && bytes > 0 && !unread.empty(); large = true) {
    ReadingOrder::sort(unread, &Connection::said);
    std::erase_if(unread, [&](Connection* connection) {
      if (messages == 0 || bytes == 0) return false;
      connection->ready = false;
      const Cost cost = read_one(*connection, {std::min(messages, kPacketsAShare), kBytesAShare,
                                               large || connection->has_waiting()});
      messages -= std::min(messages, cost.messages);
      bytes -= std::min(bytes, cost.bytes);
      return !connection->has_more() || connection->paused;
    });
  }
  unfinished_ = !unread.empty();
  said_by_unread_ = 0;
  for (const Connection* each : unread) said_by_unread_ = std::max(said_by_unread_, each->said);
  hello_waits_ = std::ranges::any_of(
      connections, [](const Connection* each) { return each->has_waiting() && !each->greeted(); });
}

Server::Cost Server::read_one(Connection& connection, const Connection::Share& share) {
  const std::uint32_t uid = connection.process().uid();
  const DescriptorCloser::Pending pending = closer_.pending(uid);
  const std::size_t not_closed = pending.descriptors + pending.memory_files;
  if (!connection.end() &&
      (pending.descriptors >= kMostForeignDescriptors || pending.memory_files >= kMostMemoryFiles)) {
    pause(connection, "user-descriptors",
          fmt::format("{} descriptors that processes of user {} sent are not closed yet: these processes are "
                      "read later",
                      not_closed, uid));
    return {};
  }
  const bool may = connection.end() || user_messages_.may(uid, connection.id(), UserMessages::Clock::now());
  if (!may) {
    pause(connection, "user-messages-per-second",
          fmt::format("the processes of user {} send more than {} messages a second: they are read later",
                      uid, options_.user_messages_a_second));
    return {};
  }
  connection.paused = false;
  const Cost cost{.bytes = connection.read(share), .messages = connection.messages_read()};
  connection.debt += static_cast<double>(cost.bytes);
  connection.said += static_cast<double>(cost.bytes);
  user_messages_.read(uid, connection.id(), cost.messages);
  hold(connection, connection.is_held());
  if (connection.unwatched) return cost;
  const bool said_little = cost.messages > 0 && connection.said <= kLittle && !connection.has_more();
  let_end_waits(connection, !said_little);
  return cost;
}

void Server::let_end_waits(Connection& connection, bool ends_waits) {
  if (connection.ends_waits == ends_waits) return;
  connection.ends_waits = ends_waits;
  epoll_event event{};
  event.events = ends_waits ? static_cast<std::uint32_t>(EPOLLIN) : 0;
  event.data.u64 = connection.id();
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, connection.socket(), &event);
}

// Also the end of a connection would wake us all the time, before what was said there is read.
void Server::hold(Connection& connection, bool held) {
  if (connection.unwatched == held) return;
  connection.unwatched = held;
  connection.ends_waits = true;
  if (held) {
    unwatch(connection.socket());
  } else if (!watch(connection.socket(), connection.id())) {
    connection.ends_waits = false;  // it is asked at each call
  }
}

// What is not read must not wake us either.
void Server::pause(Connection& connection, const char* limit, const std::string& why) {
  let_end_waits(connection, false);
  if (std::exchange(connection.paused, true)) return;
  ++counters_.pauses[limit];
  tell_limit(connection.id(), limit, why, 0);
}

void Server::read_logs(std::vector<Connection*>& connections) {
  constexpr double kCostOfRecord = sizeof(tailor_log_record);
  std::size_t left = kRecordsAPoll;
  const auto read = [&](Connection& connection) {
    const std::size_t records = connection.drain_logs(kRecordsAShare, kAreasAShare);
    connection.debt += static_cast<double>(records) * kCostOfRecord;
    left -= std::min(left, records);
    return records;
  };
  std::vector<Connection*> more;
  for (Connection* connection : connections) {
    if (read(*connection) >= kRecordsAShare || !connection->logs_are_read()) more.push_back(connection);
  }
  while (left > 0 && !more.empty()) {
    ReadingOrder::sort(more, &Connection::debt);
    std::erase_if(more, [&](Connection* connection) {
      return left == 0 || (read(*connection) < kRecordsAShare && connection->logs_are_read());
    });
  }
}

void Server::accept() {
  for (int accepted = 0; accepted < kAcceptsAPoll; ++accepted) {
    UniqueFd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket) {
      accept_one(std::move(socket));
    } else if ((errno != EMFILE && errno != ENFILE) || !turn_one_away()) {
      return;
    }
  }
}

// Its user's thread closes it, which may take long. Nobody is accepted until a descriptor is free.
bool Server::turn_one_away() {
  UniqueFd socket = spare_.accept_in_its_place(listener_.get());
  const bool turned_away = static_cast<bool>(socket);
  if (turned_away) {
    const std::uint32_t uid = credentials_of(socket.get()).uid;
    closer_.close_connection(uid, std::move(socket));
    ++counters_.refused;
    ++counters_.refusals["no file descriptors left"];
  }
  listens_ = spare_.refill();
  if (!listens_) unwatch(listener_.get());
  return turned_away && listens_;
}

void Server::accept_one(UniqueFd socket) {
  const ucred peer = credentials_of(socket.get());
  admit_connection(socket, peer);
  closer_.close_connection(peer.uid, std::move(socket));  // where it was not admitted
}

void Server::admit_connection(UniqueFd& socket, const ucred& credentials) {
  if (connections_.size() >= options_.max_connections) {
    return turn_away(
        socket.get(), credentials, "max-processes",
        fmt::format("{} processes are registered, which is the limit (max-processes)", connections_.size()));
  }
  // To close one that holds strange descriptors takes as long as their owner likes.
  if (connections_of(credentials.uid) + closer_.pending(credentials.uid).connections >=
      options_.user_processes) {
    return turn_away(socket.get(), credentials, "user-processes",
                     fmt::format("user {} has {} processes registered, which is the limit (user-processes)",
                                 credentials.uid, options_.user_processes));
  }
  auto held = shares_.descriptors->hold(credentials.uid, kDescriptorsOfConnection);
  if (!held) {
    return turn_away(
        socket.get(), credentials, "user-open-descriptors",
        fmt::format("the processes of user {} take {} descriptors of the daemon, which is the limit",
                    credentials.uid, shares_.descriptors->taken(credentials.uid)));
  }
  auto process = PeerProcess::open(options_.proc, credentials, socket.get());
  if (!process) {
    const bool of_another = process.error().kind == ErrorKind::kDenied && process.error().code == 0;
    return turn_away(socket.get(), credentials, of_another ? "another user" : "process not found",
                     process.error().message);
  }
  ConnectionId id = next_id_++;
  auto connection = std::make_unique<Connection>(
      id, std::move(socket), std::move(*process), sink_, counters_, closer_, reader_, shares_,
      std::move(held), options_.process_dictionaries,
      [this](const Connection& newcomer, const v1::Hello& hello) { return admit(newcomer, hello); });
  connection->said = said_by_unread_;
  if (!watch(connection->socket(), id) || !watch(connection->process().pidfd(), id | kProcessEnd)) {
    unwatch(connection->socket());
    return turn_away(connection->socket(), credentials, "epoll", "it cannot be watched");
  }
  ++counters_.connections;
  connection->ready = true;
  ++of_user_[connection->process().uid()];
  connections_.emplace(id, std::move(connection));
}

void Server::turn_away(int socket, const ucred& peer, const char* kind, const std::string& reason) {
  v1::DaemonMessage refusal;
  refusal.mutable_refusal()->set_reason(reason);
  const std::string bytes = refusal.SerializeAsString();
  (void)::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ++counters_.refused;
  ++counters_.refusals[kind];
  sink_.on_refused({peer.pid, peer.uid, reason});
}

// One agent a process. An agent that comes back may be faster than the news that its last connection ended:
// then it waits until what it sent there was read.
Connection::Admission Server::admit(const Connection& newcomer, const v1::Hello& hello) {
  using What = Connection::Admission::What;
  const ProcessId process = newcomer.process().id();
  if (Connection* other = agent_of(process); other != nullptr && other != &newcomer) {
    if (other->end() || other->hung_up()) return {What::kLater, {}, ""};
    return {What::kNo, {}, "this process is registered already"};
  }
  if (hellos_left_ == 0 || !sink_.may_begin(process)) return {What::kLater, {}, ""};
  --hellos_left_;
  // Sampling goes by pid: it must not be another's by now.
  if (Status same = newcomer.process().check_again(); !same)
    return {What::kNo, {}, same.error().message, "another process"};
  agents_[process] = newcomer.id();
  const auto resume = resumes_.extract(process);
  if (resume.empty() || resume.mapped().instance != hello.instance()) return {What::kYes, {}, ""};
  return {What::kYes, std::move(resume.mapped().positions), ""};
}

// Asked for each newcomer at each turn: there may be as many as may connect.
Connection* Server::agent_of(ProcessId process) const {
  const auto known = agents_.find(process);
  if (known == agents_.end()) return nullptr;
  const auto found = connections_.find(known->second);
  return found != connections_.end() && found->second->greeted() ? found->second.get() : nullptr;
}

void Server::remember(const Connection& connection, LogPositions positions) {
  if (positions.empty()) return;
  resumes_[connection.process().id()] = {++resume_age_, connection.instance(), std::move(positions)};
  if (resumes_.size() <= options_.max_connections) return;
  resumes_.erase(std::min_element(resumes_.begin(), resumes_.end(),
                                  [](const auto& a, const auto& b) { return a.second.age < b.second.age; }));
}

void Server::reap() {
  for (auto it = connections_.begin(); it != connections_.end();) {
    Connection& connection = *it->second;
    if (!connection.end() || (connection.greeted() && !connection.logs_are_read())) {
      ++it;
      continue;
    }
    bool comes_back = connection.end()->reason != GoneReason::kProcessExit;
    unwatch(connection.socket());
    LogPositions positions = connection.close();
    if (comes_back && connection.greeted()) remember(connection, std::move(positions));
    forget(connection);
    it = connections_.erase(it);
  }
}

void Server::forget(const Connection& connection) {
  const auto agent = agents_.find(connection.process().id());
  if (agent != agents_.end() && agent->second == connection.id()) agents_.erase(agent);
  const auto user = of_user_.find(connection.process().uid());
  if (--user->second == 0) of_user_.erase(user);
}

std::size_t Server::connections_of(std::uint32_t uid) const {
  const auto user = of_user_.find(uid);
  return user == of_user_.end() ? 0 : user->second;
}

void Server::reply(ConnectionId connection, const v1::DaemonMessage& message) {
  auto found = connections_.find(connection);
  if (found != connections_.end() && !found->second->end()) found->second->reply(message);
}

void Server::refuse(ConnectionId connection, const std::string& reason) {
  auto found = connections_.find(connection);
  if (found == connections_.end()) return;
  found->second->refuse(GoneReason::kRefused, "refused", reason);
}

void Server::tell_limit(ConnectionId connection, const std::string& limit, const std::string& reason,
                        std::uint64_t refused) {
  const auto found = connections_.find(connection);
  if (found == connections_.end() || found->second->end()) return;
  if (!found->second->may_tell(limit, UserMessages::Clock::now())) return;
  v1::DaemonMessage message;
  message.mutable_limit_reached()->set_limit(limit);
  message.mutable_limit_reached()->set_reason(reason);
  message.mutable_limit_reached()->set_refused(refused);
  found->second->reply(message);
}

}  // namespace tailor::registration
