// One agent's connection: packets become events, logs are drained, and what the process has said is settled.
//
// Life: made by the server after accept; Hello; any number of messages; ended (it hung up, or was refused);
// its logs are read once more; closed. The server's thread owns it, and says how much it may do at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/registration/counters.h"
#include "daemon/registration/descriptor_closer.h"
#include "daemon/registration/dictionary_use.h"
#include "daemon/registration/events.h"
#include "daemon/registration/label_sets.h"
#include "daemon/registration/log_drain.h"
#include "daemon/registration/message_reader.h"
#include "daemon/registration/ordered_tsc.h"
#include "daemon/registration/packet.h"
#include "daemon/registration/peer_process.h"
#include "daemon/registration/user_counts.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

class Connection {
 public:
  struct End {
    GoneReason reason = GoneReason::kHangup;
    std::string detail;
  };
  // What is asked at Hello: may this process register, and where does reading its logs go on?
  struct Admission {
    enum class What { kYes, kNo, kLater } what = What::kYes;
    LogPositions positions;
    std::string reason;                       // of kNo
    const char* kind = "registered already";  // of it, which is counted
  };
  using Admit = std::function<Admission(const Connection&, const v1::Hello&)>;
  // How much may be read at once: packets, bytes, and whether a message that does not fit into a packet may.
  struct Share {
    std::size_t packets = 0, bytes = 0;
    bool large = false;
  };

  // What the processes of each user have, all together.
  struct UserShares {
    std::shared_ptr<UserCounts> descriptors;
    std::shared_ptr<UserCounts> dictionaries;
  };

  Connection(ConnectionId id, UniqueFd socket, PeerProcess process, Sink& sink, Counters& counters,
             DescriptorCloser& closer, MessageReader& reader, const UserShares& shares,
             UserCounts::Taken held, const DictionaryUse::Most& dictionaries, Admit admit);
  // Other threads close the descriptors that came from the process, and soon.
  ~Connection();

  ConnectionId id() const { return id_; }
  int socket() const { return socket_.get(); }
  const PeerProcess& process() const { return process_; }
  const std::string& instance() const { return instance_; }
  bool greeted() const { return !instance_.empty(); }
  const std::optional<End>& end() const { return end_; }

  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Reads at most its share (and the whole of its last message). Returns what that cost: bytes, and something
  // a packet.
  std::size_t read(const Share& share);
  // Nothing more is read before a large message of it was read elsewhere, and is gone. The server is woken
  // then.
  bool is_held() const { return !end_ && (is_being_read() || !large_.expired()); }
  // More may be waiting than the last share allowed.
  bool has_more() const { return has_more_ && !end_; }
  // A message was received, and waits to be handled.
  bool has_waiting() const { return waiting_.has_value() && !end_; }
  // Messages in the last read().
  std::size_t messages_read() const { return messages_read_; }
  // Whether the peer has closed its end, though what it sent before may still be unread.
  bool hung_up() const;

  // Reads the logs: see LogDrain.
  std::size_t drain_logs(std::size_t max_records, std::size_t max_areas) {
    return greeted() ? logs_.drain(sink_, max_records, max_areas) : 0;
  }
  bool logs_are_read() const { return logs_.pass_done(); }
  double take_fullest_log() { return logs_.take_fullest(); }
  std::uint32_t least_log() const { return logs_.least_log(); }

  // What has been said by when, before anything of this round is read, and after it.
  void advance_mark();
  void try_settle();

  // The process is gone. Its earlier messages are still read.
  void process_ended();
  // The connection is to be closed. The first reason given counts. Its logs get a last pass.
  void finish(GoneReason reason, std::string detail);
  // Tells the peer why, and finishes; `kind` is what is counted.
  void refuse(GoneReason reason, const char* kind, std::string detail);
  // Sends an answer without waiting. A peer that does not read its answers is closed.
  void reply(const v1::DaemonMessage& message);
  // False: of this limit it was told within the last second.
  bool may_tell(const std::string& limit, std::chrono::steady_clock::time_point now);
  // The event that it is over; once. Returns where the logs stood.
  LogPositions close();

  // What it cost of late, for the server's order of service; and of that the messages.
  double debt = 0, said = 0;
  // It is not read for a while: its user sent too many messages.
  bool paused = false;
  // Its socket is not watched, because it is held.
  bool unwatched = false;
  // It has said something that was not read yet, as far as the server knows.
  bool ready = false;
  // Its messages end the server's waits. If not, it is asked at each call.
  bool ends_waits = true;

 private:
  Packet receive();
  // These take the packet where it has to wait.
  void handle(Packet& packet);
  void handle_envelope(const v1::AgentMessage& envelope, Packet& packet);
  void handle_large(Packet& packet);
  void handle_parsed(v1::AgentMessage message, Packet& packet);
  // The memory file that came with it.
  void let_go(Packet& packet);
  void begin_to_read();
  bool is_being_read() const;
  void handle_read();
  void handle_message(PeerMessage event, int attached);
  bool handle_hello(const v1::Hello& hello);
  void handle_arena(const v1::ArenaAdd& add, int fd);
  // False: it was rejected.
  bool put_labels_in(PeerMessage& event);
  void deliver(PeerMessage event);
  void reject(std::string what);
  // The contents of the message are not kept; unlike one that is rejected it does not end the connection in
  // the long run.
  void beyond(const char* limit, std::string why);
  void protocol_error(std::string what);

  ConnectionId id_;
  UniqueFd socket_;
  PeerProcess process_;
  Sink& sink_;
  Counters& counters_;
  DescriptorCloser& closer_;
  MessageReader& reader_;
  UserShares shares_;
  UserCounts::Taken held_;  // its descriptors
  DictionaryUse dictionaries_;
  LabelSets label_sets_;
  Admit admit_;
  LogDrain logs_;
  LogPositions resume_;
  std::string instance_;
  std::optional<End> end_;
  std::uint64_t accepted_tsc_ = 0;
  std::uint64_t received_tsc_ = 0;
  std::uint64_t arena_bytes_ = 0;
  std::uint64_t bytes_read_ = 0;  // from the socket, ever
  // ArenaView::messages_settled() before the last look that found the socket empty.
  static constexpr std::uint64_t kNothingSettled = ~std::uint64_t{0};
  std::uint64_t settled_when_empty_ = kNothingSettled;
  std::size_t cost_ = 0;           // of this read()
  std::size_t messages_read_ = 0;  // in it
  std::size_t rejections_ = 0;
  bool has_more_ = false;
  std::map<std::string, std::uint64_t> beyond_;                        // messages, by limit
  std::map<std::string, std::chrono::steady_clock::time_point> told_;  // limits, and when
  std::optional<Packet> waiting_;  // was received, and is to be handled before the next
  bool waiting_is_large_ = false;  // else it is a Hello that has to wait
  std::size_t elsewhere_ = 0;      // bytes of the large one, where another thread is to read it
  std::shared_ptr<MessageReader::Reading> reading_;  // NULL: it has not begun yet
  std::weak_ptr<LargeMessage> large_;                // the last one, for as long as somebody works at it
  std::optional<std::uint64_t> last_bytes_;  // once the process is gone: it said nothing behind these bytes

  // What is to be settled: everything said before `tsc`. Once the agent has put `queued` messages into the
  // socket, what lies in there is known to include them: it has been read when `bytes_read_` reaches
  // `read_until`, and then the logs get a pass.
  struct Mark {
    std::uint64_t tsc = 0;
    std::uint64_t queued = 0;
    std::optional<std::uint64_t> read_until;
    bool passing = false;
  };
  std::optional<Mark> mark_;
};

}  // namespace tailor::registration
