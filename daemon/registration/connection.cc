#include "daemon/registration/connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "daemon/registration/attachment.h"
#include "daemon/registration/limits.h"
#include "daemon/registration/message_parser.h"

namespace tailor::registration {

namespace {

// Logs of an agent may have been written before it connected, but hardly for longer than this (cycles of the
// TSC).
constexpr std::uint64_t kBeforeConnecting = std::uint64_t{60} << 30;

}  // namespace

Connection::Connection(ConnectionId id, UniqueFd socket, PeerProcess process, Sink& sink, Counters& counters,
                       DescriptorCloser& closer, MessageReader& reader, const UserShares& shares,
                       UserCounts::Taken held, const DictionaryUse::Most& dictionaries, Admit admit)
    : id_(id),
      socket_(std::move(socket)),
      process_(std::move(process)),
      sink_(sink),
      counters_(counters),
      closer_(closer),
      reader_(reader),
      shares_(shares),
      held_(std::move(held)),
      dictionaries_(dictionaries, *shares_.dictionaries, process_.uid()),
      admit_(std::move(admit)),
      logs_(process_, counters_),
      accepted_tsc_(ordered_tsc()) {}

Connection::~Connection() {
  if (waiting_) let_go(*waiting_);
  closer_.close_connection(process_.uid(), std::move(socket_));
}

bool Connection::hung_up() const {
  pollfd waiting{socket_.get(), 0, 0};
  return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLHUP | POLLERR)) != 0;
}

// A busy agent's socket may never be empty, so what lies in it at the right moment is measured instead.
void Connection::advance_mark() {
  const ArenaView* first = logs_.first_arena();
  if (!first || end_) return;
  if (!mark_) {
    std::uint64_t tsc = ordered_tsc();
    mark_ = Mark{tsc, first->messages_queued(), std::nullopt};
  }
  const std::uint64_t settled = first->messages_settled();
  if (mark_->read_until || settled < mark_->queued) return;
  if (settled == settled_when_empty_ && !waiting_) {
    mark_->read_until = bytes_read_;  // all that it had put into the socket was read, without asking for it
    return;
  }
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCINQ, &waiting) == 0) {
    // What was received and waits to be handled counts as unread.
    mark_->read_until = bytes_read_ + static_cast<std::uint64_t>(waiting) +
                        (waiting_ ? waiting_->bytes.size() : std::size_t{0});
  }
}

std::size_t Connection::read(const Share& share) {
  cost_ = messages_read_ = 0;
  has_more_ = false;
  const ArenaView* first = logs_.first_arena();
  const std::uint64_t settled = first == nullptr ? kNothingSettled : first->messages_settled();
  std::size_t packets = 0;
  while (!end_) {
    begin_to_read();
    if (is_held()) break;
    if (packets >= share.packets || cost_ >= share.bytes || (waiting_ && waiting_is_large_ && !share.large)) {
      has_more_ = true;
      break;
    }
    ++packets;
    Packet packet;
    const bool again = waiting_.has_value();
    if (again) {
      packet = std::move(*waiting_);
      waiting_.reset();
    } else {
      packet = receive();
    }
    if (packet.state != Packet::State::kGot) {
      const bool over = packet.state == Packet::State::kEnd;
      if (last_bytes_) {
        finish(GoneReason::kProcessExit, "");
      } else if (over) {
        finish(GoneReason::kHangup, "");
      }
      settled_when_empty_ = settled;
      let_go(packet);
      break;
    }
    if (!again) received_tsc_ = ordered_tsc();
    const std::size_t bytes = packet.bytes.size();
    cost_ += bytes + kPacketCost;
    if (again && elsewhere_ > 0) {
      handle_read();
    } else if (again && waiting_is_large_) {
      handle_large(packet);
    } else {
      handle(packet);
    }
    let_go(packet);
    if (waiting_ && !waiting_is_large_) break;  // a Hello, until the next call
    if (!waiting_) {
      bytes_read_ += bytes;
      ++messages_read_;
    }
    if (last_bytes_ && bytes_read_ >= *last_bytes_) finish(GoneReason::kProcessExit, "");
  }
  return cost_;
}

Packet Connection::receive() {
  Packet packet = receive_packet(socket_.get());
  for (UniqueFd& foreign : packet.foreign) closer_.close(process_.uid(), std::move(foreign));
  packet.foreign.clear();
  return packet;
}

void Connection::let_go(Packet& packet) {
  closer_.close_memory(process_.uid(), std::move(packet.attached));
}

void Connection::handle(Packet& packet) {
  if (packet.sender != process_.id().pid) {
    ++counters_.foreign_packets;
    return;
  }
  if (packet.oversized) return protocol_error("packet with more bytes or descriptors than any agent sends");
  auto message = parse(packet.bytes);
  if (!message) return greeted() ? reject(message.error().message) : protocol_error(message.error().message);
  if (is_envelope(*message)) return handle_envelope(*message, packet);
  handle_parsed(std::move(*message), packet);
}

// It is handled when it is its turn, and after it was read where that takes long.
void Connection::handle_envelope(const v1::AgentMessage& envelope, Packet& packet) {
  if (envelope.payload_bytes() > kReadAtOnceBytes) {
    if (!greeted()) return protocol_error("something else before hello");
    if (envelope.payload_bytes() > kMaxMessageBytes)
      return reject(fmt::format("message of {} bytes is too large", envelope.payload_bytes()));
    elsewhere_ = envelope.payload_bytes();
  }
  waiting_ = std::move(packet);
  waiting_is_large_ = true;
}

// As soon as its user may have it.
void Connection::begin_to_read() {
  if (elsewhere_ == 0 || reading_ || !large_.expired()) return;
  reading_ = reader_.begin(process_.uid(), waiting_->attached, elsewhere_, sink_.preparation(process_.id()));
}

bool Connection::is_being_read() const {
  return elsewhere_ > 0 && !(reading_ && reading_->is_done());
}

void Connection::handle_read() {
  cost_ += std::exchange(elsewhere_, 0);
  auto large = std::exchange(reading_, nullptr)->take();
  if (!large) return reject(large.error().message);
  if ((*large)->message().has_hello()) return protocol_error("a second hello");
  large_ = *large;
  handle_message({id_, process_.id(), received_tsc_, {}, std::move(*large)}, -1);
}

void Connection::handle_large(Packet& packet) {
  auto envelope = parse(packet.bytes);
  if (!envelope) return reject(envelope.error().message);
  auto payload = read_payload(packet.attached.get(), envelope->payload_bytes());
  if (!payload) return reject(payload.error().message);
  cost_ += payload->size();
  auto message = parse(*payload);
  if (!message) return reject(message.error().message);
  handle_parsed(std::move(*message), packet);
}

void Connection::handle_parsed(v1::AgentMessage message, Packet& packet) {
  const bool hello = message.body_case() == v1::AgentMessage::kHello;
  if (greeted() == hello) return protocol_error(greeted() ? "a second hello" : "something else before hello");
  Status valid = validate(message);
  if (!valid) return greeted() ? reject(valid.error().message) : protocol_error(valid.error().message);
  if (hello) {
    if (handle_hello(message.hello())) return;
    waiting_ = std::move(packet);
    waiting_is_large_ = false;
    return;
  }
  handle_message({id_, process_.id(), received_tsc_, std::move(message)}, packet.attached.get());
}

void Connection::handle_message(PeerMessage event, int attached) {
  v1::AgentMessage& message = event.said();
  if (message.tsc() > received_tsc_) {
    ++counters_.future_times;
    message.set_tsc(received_tsc_);
  }
  const std::size_t bytes = event.large ? event.large->dictionary_bytes : DictionaryUse::bytes_of(message);
  if (auto limit = dictionaries_.take(message, bytes)) return beyond(limit->limit, std::move(limit->why));
  switch (message.body_case()) {
    case v1::AgentMessage::kArenaAdd:
      return handle_arena(message.arena_add(), attached);
    case v1::AgentMessage::kThreadAdd: {
      v1::ThreadAdd& add = *message.mutable_thread_add();
      add.set_tid(static_cast<std::uint32_t>(logs_.tid(add.arena(), add.area(), add.use(), add.tid())));
      break;
    }
    case v1::AgentMessage::kCodeLoad: {
      // It may have been there before it was told of, not after.
      v1::CodeObject& code = *message.mutable_code_load();
      if (code.load_tsc() == 0 || code.load_tsc() > message.tsc()) code.set_load_tsc(message.tsc());
      break;
    }
    case v1::AgentMessage::kExecutionBegin:
      if (!put_labels_in(event)) return;
      break;
    case v1::AgentMessage::kGoodbye:
      deliver(std::move(event));
      return finish(GoneReason::kGoodbye, "");
    default:
      break;
  }
  deliver(std::move(event));
}

// One that was read elsewhere was prepared with the labels that it had then.
bool Connection::put_labels_in(PeerMessage& event) {
  v1::ExecutionBegin& begin = *event.said().mutable_execution_begin();
  if (event.large && begin.label_set() != 0) {
    reject(fmt::format("execution {}: a set of labels in a large message", begin.handle()));
    return false;
  }
  Status put = label_sets_.put_in(begin);
  if (!put) reject(put.error().message);
  return put.ok();
}

// False: not yet.
bool Connection::handle_hello(const v1::Hello& hello) {
  Admission admission = admit_(*this, hello);
  if (admission.what == Admission::What::kLater) return false;
  if (admission.what == Admission::What::kNo) {
    refuse(GoneReason::kRefused, admission.kind, std::move(admission.reason));
    return true;
  }
  resume_ = std::move(admission.positions);
  instance_ = hello.instance();
  sink_.on_connected({id_, process_.id(), process_.uid(), process_.gid(), received_tsc_, hello});
  return true;
}

void Connection::handle_arena(const v1::ArenaAdd& add, int fd) {
  if (logs_.has_arena(add.index())) return reject(fmt::format("arena {} a second time", add.index()));
  auto held = shares_.descriptors->hold(process_.uid(), 1);
  if (!held) {
    return beyond(
        "user-open-descriptors",
        fmt::format("arena {}: the processes of user {} take {} descriptors of the daemon, which is the "
                    "limit; the activity of its threads is not known",
                    add.index(), process_.uid(), shares_.descriptors->taken(process_.uid())));
  }
  arena_bytes_ += add.bytes();
  if (arena_bytes_ > kMaxConnectionArenas) return protocol_error("more arenas than any agent has");
  auto arena = map_arena(fd, add.bytes(), std::move(held));
  if (!arena) return reject(fmt::format("arena {}: {}", add.index(), arena.error().message));
  *arena = closer_.freed_elsewhere(process_.uid(), std::move(*arena));
  if (logs_.areas() + (*arena)->area_count() > kMaxAreasOfConnection) {
    return refuse(GoneReason::kRefused, "too many threads' logs",
                  fmt::format("a process may have {} areas for logs, not {}", kMaxAreasOfConnection,
                              logs_.areas() + (*arena)->area_count()));
  }
  std::vector<LogReader> readers;
  if (auto earlier = resume_.find(add.index()); earlier != resume_.end())
    readers = std::move(earlier->second);
  const std::uint64_t since = accepted_tsc_ - std::min(accepted_tsc_, kBeforeConnecting);
  logs_.add_arena(add.index(), *arena, std::move(readers), since);
  sink_.on_arena({process_.id(), add.index(), *arena});
}

void Connection::deliver(PeerMessage event) {
  ++counters_.messages;
  sink_.on_message(std::move(event));
}

void Connection::reject(std::string what) {
  ++counters_.rejected;
  sink_.on_rejected({id_, process_.id(), std::move(what)});
  if (++rejections_ > kMaxRejections) protocol_error("too many messages that had to be rejected");
}

void Connection::beyond(const char* limit, std::string why) {
  ++counters_.rejected;
  ++counters_.pauses[limit];
  v1::DaemonMessage told;
  told.mutable_limit_reached()->set_limit(limit);
  told.mutable_limit_reached()->set_reason(why);
  told.mutable_limit_reached()->set_refused(++beyond_[limit]);
  sink_.on_rejected({id_, process_.id(), std::move(why)});
  if (may_tell(limit, std::chrono::steady_clock::now())) reply(told);
}

void Connection::protocol_error(std::string what) {
  ++counters_.protocol_errors;
  refuse(GoneReason::kProtocol, "protocol", std::move(what));
}

void Connection::refuse(GoneReason reason, const char* kind, std::string detail) {
  if (end_) return;
  v1::DaemonMessage refusal;
  refusal.mutable_refusal()->set_reason(detail);
  const std::string bytes = refusal.SerializeAsString();
  (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (reason == GoneReason::kRefused) ++counters_.refused;
  ++counters_.refusals[kind];
  if (!greeted()) sink_.on_refused({process_.id().pid, process_.uid(), detail});
  finish(reason, std::move(detail));
}

bool Connection::may_tell(const std::string& limit, std::chrono::steady_clock::time_point now) {
  const auto [told, first] = told_.try_emplace(limit, now);
  if (!first && now - told->second < std::chrono::seconds(1)) return false;
  told->second = now;
  return true;
}

void Connection::process_ended() {
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCINQ, &waiting) != 0) waiting = 0;
  last_bytes_ = bytes_read_ + static_cast<std::uint64_t>(waiting) + (waiting_ ? waiting_->bytes.size() : 0);
  if (waiting == 0 && !waiting_) finish(GoneReason::kProcessExit, "");
}

void Connection::finish(GoneReason reason, std::string detail) {
  if (end_) return;
  end_ = End{reason, std::move(detail)};
  if (waiting_) let_go(*waiting_);
  waiting_.reset();
  reading_.reset();
  elsewhere_ = 0;
  logs_.begin_pass();
}

void Connection::reply(const v1::DaemonMessage& message) {
  std::string bytes = message.SerializeAsString();
  if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return protocol_error("it does not read its answers");
  // What it sent before it hung up is still there.
}

void Connection::try_settle() {
  if (!mark_ || end_ || !mark_->read_until || bytes_read_ < *mark_->read_until) return;
  if (!large_.expired()) return;  // what it said last is not where it belongs yet
  if (!mark_->passing) {
    mark_->passing = true;
    logs_.begin_pass();
    return;
  }
  if (!logs_.pass_done()) return;
  sink_.on_settled({process_.id(), mark_->tsc});
  mark_.reset();
}

LogPositions Connection::close() {
  if (socket_ && greeted()) sink_.on_gone({id_, process_.id(), end_->reason, end_->detail});
  closer_.close_connection(process_.uid(), std::move(socket_));
  return logs_.take_positions();
}

}  // namespace tailor::registration
