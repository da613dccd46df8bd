// The daemon's end of the agent socket: accepts agents, turns what they send into events, watches for their
// end. Everything happens in the thread that calls Poll; sinks may call Reply and Refuse from inside of their
// calls.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>

#include "daemon/registration/connection.h"
#include "daemon/registration/counters.h"
#include "daemon/registration/events.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

struct ServerOptions {
  std::string socket_path;
  mode_t socket_mode = 0660;
  std::string proc = "/proc";
};

class Server {
 public:
  // Binds and listens. A socket file that nobody listens on is replaced; one that a living daemon has is an
  // error, as is a directory that is missing or not writable. The sink must outlive the server.
  static Result<std::unique_ptr<Server>> Listen(ServerOptions options, Sink& sink);
  ~Server();

  // Becomes readable when an agent has something to say. Logs are drained by Poll alone: call it every few
  // tens of milliseconds at least.
  int fd() const { return epoll_.get(); }

  // Waits at most this long for something to arrive, takes it, drains all logs, and settles what can be
  // settled.
  void Poll(int timeout_ms);

  // An answer to an agent: HelloAck once it is known whether the process is sampled, BarrierAck when
  // everything before the barrier has been processed. Unknown connections are ignored.
  void Reply(ConnectionId connection, const v1::DaemonMessage& message);
  // Tells the agent why, and closes.
  void Refuse(ConnectionId connection, const std::string& reason);

  const Counters& counters() const { return counters_; }
  std::size_t connection_count() const { return connections_.size(); }

 private:
  Server(ServerOptions options, Sink& sink) : options_(std::move(options)), sink_(sink) {}

  Status Bind();
  void Accept();
  void AcceptOne(UniqueFd socket);
  bool TurnOneAway();
  Result<LogPositions> Admit(const Connection& newcomer, const v1::Hello& hello);
  bool Watch(int fd, std::uint64_t token);
  void Reap();
  void Remember(const Connection& connection, LogPositions positions);
  std::size_t ConnectionsOf(std::uint32_t uid) const;

  ServerOptions options_;
  Sink& sink_;
  UniqueFd listener_;
  UniqueFd epoll_;
  UniqueFd spare_;  // given up for a moment to turn peers away when no descriptors are left
  bool bound_ = false;
  Counters counters_;
  ConnectionId next_id_ = 1;
  std::map<ConnectionId, std::unique_ptr<Connection>> connections_;

  // Log positions of agents whose connection ended, for when they come back. The oldest are forgotten.
  struct Resume {
    std::uint64_t age = 0;
    LogPositions positions;
  };
  std::map<std::pair<ProcessId, std::string>, Resume> resumes_;
  std::uint64_t resume_age_ = 0;
};

}  // namespace tailor::registration
