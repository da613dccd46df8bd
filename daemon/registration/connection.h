// One agent's connection: packets become events, logs are drained, and what the process has said is settled.
//
// Life: made by the server after accept; Hello; any number of messages; over when Step says so. The server's
// thread owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "daemon/registration/counters.h"
#include "daemon/registration/events.h"
#include "daemon/registration/log_drain.h"
#include "daemon/registration/packet.h"
#include "daemon/registration/peer_process.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

// The daemon's rdtsc, after everything that came before it.
std::uint64_t OrderedTsc();

class Connection {
 public:
  struct End {
    GoneReason reason = GoneReason::kHangup;
    std::string detail;
  };
  // Asked at Hello: may this process register? It tells where to go on reading its logs, or refuses.
  using Admit = std::function<Result<LogPositions>(const Connection&, const v1::Hello&)>;

  Connection(ConnectionId id, UniqueFd socket, PeerProcess process, Sink& sink, Counters& counters,
             Admit admit);

  ConnectionId id() const { return id_; }
  int socket() const { return socket_.get(); }
  const PeerProcess& process() const { return process_; }
  const std::string& session() const { return session_; }
  bool greeted() const { return !session_.empty(); }
  const std::optional<End>& end() const { return end_; }

  // Takes what has arrived (at most a fair share), then drains the logs and settles if that is possible.
  void Step();
  // Takes all that has arrived, to find out whether the connection is over.
  void ReadToEnd();
  // The connection is to be closed. The first reason given counts.
  void Finish(GoneReason reason, std::string detail);
  // Sends an answer without waiting. A peer that does not read its answers is closed.
  void Reply(const v1::DaemonMessage& message);
  // Last drain, and the event that it is over; once. Returns where the logs stood.
  LogPositions Close();

 private:
  bool ReadSome();
  void Handle(Packet packet);
  void HandleMessage(v1::AgentMessage message, const Packet& packet);
  void HandleHello(const v1::Hello& hello);
  void HandleArena(const v1::ArenaAdd& add, int fd);
  void Deliver(v1::AgentMessage message);
  void Reject(std::string what);
  void ProtocolError(std::string what);
  void AdvanceMark();
  void TrySettle();

  ConnectionId id_;
  UniqueFd socket_;
  PeerProcess process_;
  Sink& sink_;
  Counters& counters_;
  Admit admit_;
  LogDrain logs_;
  LogPositions resume_;
  std::string session_;
  std::optional<End> end_;
  std::uint64_t received_tsc_ = 0;
  std::uint64_t arena_bytes_ = 0;
  std::uint64_t bytes_read_ = 0;  // from the socket, ever
  std::size_t step_bytes_ = 0;    // taken in this step, memfds included
  std::size_t rejections_ = 0;

  // What is to be settled: everything said before `tsc`. Once the agent has put `queued` messages into the
  // socket, what lies in there is known to include them: it has been read when `bytes_read_` reaches
  // `read_until`.
  struct Mark {
    std::uint64_t tsc = 0;
    std::uint64_t queued = 0;
    std::optional<std::uint64_t> read_until;
  };
  std::optional<Mark> mark_;
};

}  // namespace tailor::registration
