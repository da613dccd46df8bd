// The daemon's end of the agent socket: accepts agents, turns what they send into events, watches for their
// end. Everything happens in the thread that calls poll(); sinks may call reply() and refuse() from inside of
// their calls.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/registration/connection.h"
#include "daemon/registration/counters.h"
#include "daemon/registration/descriptor_closer.h"
#include "daemon/registration/dictionary_use.h"
#include "daemon/registration/events.h"
#include "daemon/registration/limits.h"
#include "daemon/registration/message_reader.h"
#include "daemon/registration/reading_order.h"
#include "daemon/registration/spare_descriptor.h"
#include "daemon/registration/user_messages.h"
#include "daemon/registration/wakeup.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

struct ServerOptions {
  std::string socket_path;
  mode_t socket_mode = 0660;
  std::string socket_group = {};  // may register beside the owner, by name; "": the owner's own group
  // A SOCK_SEQPACKET socket that is bound to `socket_path` and listens; the server takes it over, and leaves
  // the file to who made it. -1: the server makes both.
  int inherited_listener = -1;
  std::string proc = "/proc";
  std::size_t max_connections = kMaxConnections;
  // Of each user, see docs/tailord.md.
  std::size_t user_processes = 1024;
  std::uint64_t user_messages_a_second = 50'000;       // 0: no limit
  std::size_t user_descriptors = kMaxUserDescriptors;  // of the daemon's
  std::size_t user_dictionaries = kMaxUserDictionaries;
  DictionaryUse::Most process_dictionaries;
  DescriptorCloser::Close close = {};  // see there
};

class Server {
 public:
  // Binds and listens. A socket file that nobody listens on is replaced; one that a living daemon has is an
  // error, as is a directory that is missing or not writable. The sink must outlive the server.
  static Result<std::unique_ptr<Server>> listen(ServerOptions options, Sink& sink);
  ~Server();

  // Waits at most this long for something to arrive, takes it, drains logs, and settles what can be settled.
  // How much it does at a time is bounded: first everybody gets a share, then those who cost least of late
  // get more. Logs are drained here alone: call it every few tens of milliseconds at least.
  //
  // An agent that said a little in the last call ends no wait: what it says next is taken when the wait is
  // over. So an engine that says something a thousand times a second costs no more wake-ups than one that is
  // silent. The first word after a silence, and an agent that says much, ends it at once.
  void poll(int timeout_ms);
  // Any thread. Ends the wait of poll(), or the next one.
  void wake() { wakeup_->wake(); }

  // How full the fullest log was that poll() has read since the last call, from 0 to 1.
  double take_fullest_log() { return std::exchange(fullest_log_, 0.0); }
  // Records of the smallest log; UINT32_MAX: there is none.
  std::uint32_t least_log() const;

  // An answer to an agent: HelloAck once it is known whether the process is sampled, BarrierAck when
  // everything before the barrier has been processed. Unknown connections are ignored.
  void reply(ConnectionId connection, const v1::DaemonMessage& message);
  // Tells the agent why, and closes.
  void refuse(ConnectionId connection, const std::string& reason);
  // Tells the agent that it has reached a limit; once a second at most for each.
  void tell_limit(ConnectionId connection, const std::string& limit, const std::string& reason,
                  std::uint64_t refused);

  const Counters& counters() const { return counters_; }
  // What the processes of each user have.
  const Connection::UserShares& shares() const { return shares_; }
  std::size_t connection_count() const { return connections_.size(); }

 private:
  Server(ServerOptions options, Sink& sink);

  Status bind();
  Status make_listener();
  Status take_over(int listener);
  void accept();
  void accept_one(UniqueFd socket);
  // Takes the socket where its process may have a connection.
  void admit_connection(UniqueFd& socket, const ucred& credentials);
  // Where no descriptor is left. False: nobody may be accepted now.
  bool turn_one_away();
  void turn_away(int socket, const ucred& peer, const char* kind, const std::string& reason);
  Connection::Admission admit(const Connection& newcomer, const v1::Hello& hello);
  void read_messages(std::vector<Connection*>& connections);
  struct Cost {
    std::size_t bytes = 0, messages = 0;
  };
  Cost read_one(Connection& connection, const Connection::Share& share);
  void read_logs(std::vector<Connection*>& connections);
  void pause(Connection& connection, const char* limit, const std::string& why);
  bool watch(int fd, std::uint64_t token);
  void unwatch(int fd);
  void wait(int timeout_ms);
  void let_end_waits(Connection& connection, bool ends_waits);
  void hold(Connection& connection, bool held);
  void reap();
  void remember(const Connection& connection, LogPositions positions);
  Connection* agent_of(ProcessId process) const;
  void forget(const Connection& connection);
  std::size_t connections_of(std::uint32_t uid) const;

  ServerOptions options_;
  Sink& sink_;
  UniqueFd listener_;
  UniqueFd epoll_;
  std::shared_ptr<const Wakeup> wakeup_;
  SpareDescriptor spare_;
  bool bound_ = false;
  bool listens_ = true;  // false: newcomers wait until a descriptor is free
  Counters counters_;
  // These outlive the connections.
  DescriptorCloser closer_;
  MessageReader reader_;
  Connection::UserShares shares_;
  ConnectionId next_id_ = 1;
  std::map<ConnectionId, std::unique_ptr<Connection>> connections_;
  std::map<ProcessId, ConnectionId> agents_;      // the connection that was admitted last, by process
  std::map<std::uint32_t, std::size_t> of_user_;  // how many of connections_

  ReadingOrder order_;
  UserMessages user_messages_;
  std::size_t first_ = 0;      // whose turn is first, among equals
  double said_by_unread_ = 0;  // the most of it, where newcomers begin: they come before nobody who waits
  int hellos_left_ = 0;        // of this poll()
  bool unfinished_ = false;    // what was said by then is not all taken yet
  bool hello_waits_ = false;
  double fullest_log_ = 0;

  // Log positions of agents whose connection ended, for when they come back: of a process those of its last
  // one. The oldest are forgotten.
  struct Resume {
    std::uint64_t age = 0;
    std::string instance;
    LogPositions positions;
  };
  std::map<ProcessId, Resume> resumes_;
  std::uint64_t resume_age_ = 0;
};

}  // namespace tailor::registration
