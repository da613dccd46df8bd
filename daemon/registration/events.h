// What registration gives to the rest of the daemon: who is there, what their agents say, what their threads
// do. Everything in these events was validated: sizes, seals, ids and strings are within the limits of
// daemon/registration/limits.h, thread ids are translated. Times are the agents' raw rdtsc values, which an
// agent may forge: treat them as claims (never newer than `received_tsc`).
#pragma once

#include <tailor/thread_area.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/registration/large_message.h"
#include "proto/base/ids.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::registration {

class ArenaView;

// Numbers connections since the daemon's start, never 0, never reused.
using ConnectionId = std::uint64_t;
// Numbers of those who speak for a process that has no agent (session::ForeignProcess).
inline constexpr ConnectionId kSpeakers = ConnectionId{1} << 63;
constexpr bool speaks_for_another(ConnectionId connection) {
  return connection >= kSpeakers;
}

// An agent said Hello. The kernel says who it is; `hello` is what the agent says.
// A reconnect of the same agent (equal `hello.instance()`) continues its process: the agent sends again all
// that is live, with the old times. Plans and code that it loaded before are gone, if it does not send
// them again by the first Settled of this connection.
struct PeerConnected {
  ConnectionId connection = 0;
  ProcessId process;
  std::uint32_t uid = 0;
  std::uint32_t gid = 0;
  std::uint64_t received_tsc = 0;
  v1::Hello hello;
};

// Anything but Hello and ArenaAdd. In ThreadAdd `tid` is that of the daemon's pid namespace, 0 if it could
// not be translated. `message.tsc()` is never above `received_tsc`.
struct PeerMessage {
  ConnectionId connection = 0;
  ProcessId process;
  std::uint64_t received_tsc = 0;
  v1::AgentMessage message;
  std::shared_ptr<LargeMessage> large = {};  // it is this one, and `message` is empty; NULL: it is `message`

  const v1::AgentMessage& said() const { return large ? large->message() : message; }
  v1::AgentMessage& said() { return large ? large->message() : message; }
};

// An arena was mapped. Its slots may be read for as long as the pointer is held, from any thread.
struct ArenaMapped {
  ProcessId process;
  std::uint32_t index = 0;
  std::shared_ptr<const ArenaView> arena;
};

// New records of one thread's activity log, in the order in which they were written. Their kinds are known
// ones and TAILOR_LOG_THREAD_BEGIN is left out, and none is from the future; nothing else about them is
// checked: a record may lie about its time. `lost` records before the first one of this batch were
// overwritten before they could be read.
struct ActivityRecords {
  ProcessId process;
  std::int32_t tid = 0;  // in the daemon's pid namespace; 0 if it could not be translated
  std::vector<tailor_log_record> records;
  std::uint64_t lost = 0;
};

// Everything the process said, in calls of its agent that returned before `tsc`, messages and log records
// alike, has been handed to the sink. Grows per connection. Attribution may go on up to here.
struct Settled {
  ProcessId process;
  std::uint64_t tsc = 0;
};

// A message was well-formed but says what cannot be ("plan 7: a link of level 2 leads to component 99 of
// 30"), or could not be decoded. It was dropped, the connection goes on.
struct PeerRejected {
  ConnectionId connection = 0;
  ProcessId process;
  std::string what;
};

// Somebody who has not registered was turned away or closed. His pid may be another's by now.
struct PeerRefused {
  std::int32_t pid = 0;
  std::uint32_t uid = 0;
  std::string reason;
};

enum class GoneReason : std::uint8_t {
  kGoodbye,      // the engine stopped its agent
  kHangup,       // the connection ended: process exit, crash, or a reconnect that follows
  kProcessExit,  // the kernel says that the process is gone
  kProtocol,     // it sent what no agent sends; `detail` says what
  kRefused,      // the daemon closed it; `detail` has the reason given
};

// The connection is over; its logs were drained once more. Last event of the connection: what this process
// said until now is complete, whatever Settled has told so far.
struct PeerGone {
  ConnectionId connection = 0;
  ProcessId process;
  GoneReason reason = GoneReason::kHangup;
  std::string detail;
};

// Receives the events. Called from the thread that runs the Server, which may call Server::reply() and
// Server::refuse() from inside.
class Sink {
 public:
  virtual ~Sink() = default;
  // The wait of Server::poll() is over: what follows is work.
  virtual void on_awake() {}
  // Whether that process may register now. If not, it is asked again some ten milliseconds later.
  virtual bool may_begin(ProcessId /*process*/) { return true; }
  // How large messages of that process are prepared, from now on. Empty: they are not.
  virtual Prepare preparation(ProcessId /*process*/) { return {}; }
  virtual void on_connected(const PeerConnected& event) = 0;
  virtual void on_message(PeerMessage event) = 0;
  virtual void on_arena(const ArenaMapped& event) = 0;
  virtual void on_activity(ActivityRecords event) = 0;
  virtual void on_settled(const Settled& event) = 0;
  virtual void on_rejected(const PeerRejected& event) = 0;
  virtual void on_gone(const PeerGone& event) = 0;
  virtual void on_refused(const PeerRefused& event) = 0;
};

}  // namespace tailor::registration
