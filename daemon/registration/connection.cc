#include "daemon/registration/connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

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
                       Admit admit)
    : id_(id),
      socket_(std::move(socket)),
      process_(std::move(process)),
      sink_(sink),
      counters_(counters),
      admit_(std::move(admit)),
      logs_(process_, counters_),
      accepted_tsc_(OrderedTsc()) {}

bool Connection::hung_up() const {
  pollfd waiting{socket_.get(), 0, 0};
  return ::poll(&waiting, 1, 0) > 0 && (waiting.revents & (POLLHUP | POLLERR)) != 0;
}

// A busy agent's socket may never be empty, so what lies in it at the right moment is measured instead.
void Connection::AdvanceMark() {
  const ArenaView* first = logs_.first_arena();
  if (!first || end_) return;
  if (!mark_) {
    std::uint64_t tsc = OrderedTsc();
    mark_ = Mark{tsc, first->MessagesQueued(), std::nullopt};
  }
  if (mark_->read_until || first->MessagesSettled() < mark_->queued) return;
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCINQ, &waiting) == 0) {
    // What was received and waits to be handled counts as unread.
    mark_->read_until = bytes_read_ + static_cast<std::uint64_t>(waiting) +
                        (waiting_ ? waiting_->bytes.size() : std::size_t{0});
  }
}

std::size_t Connection::Read(const Share& share) {
  cost_ = messages_read_ = 0;
  has_more_ = false;
  std::size_t packets = 0;
  while (!end_) {
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
      packet = ReceivePacket(socket_.get());
    }
    if (packet.state != Packet::State::kGot) {
      const bool over = packet.state == Packet::State::kEnd;
      if (last_bytes_) {
        Finish(GoneReason::kProcessExit, "");
      } else if (over) {
        Finish(GoneReason::kHangup, "");
      }
      break;
    }
    if (!again) received_tsc_ = OrderedTsc();
    const std::size_t bytes = packet.bytes.size();
    cost_ += bytes + kPacketCost;
    if (again && waiting_is_large_) {
      HandleLarge(std::move(packet));
    } else {
      Handle(std::move(packet));
    }
    if (waiting_ && !waiting_is_large_) break;  // a Hello, until the next call
    if (!waiting_) {
      bytes_read_ += bytes;
      ++messages_read_;
    }
    if (last_bytes_ && bytes_read_ >= *last_bytes_) Finish(GoneReason::kProcessExit, "");
  }
  return cost_;
}

void Connection::Handle(Packet packet) {
  if (packet.sender != process_.id().pid) {
    ++counters_.foreign_packets;
    return;
  }
  if (packet.oversized) return ProtocolError("packet with more bytes or descriptors than any agent sends");
  auto message = Parse(packet.bytes);
  if (!message) return greeted() ? Reject(message.error().message) : ProtocolError(message.error().message);
  if (IsEnvelope(*message)) {
    waiting_ = std::move(packet);
    waiting_is_large_ = true;
    return;
  }
  HandleParsed(std::move(*message), std::move(packet));
}

void Connection::HandleLarge(Packet packet) {
  auto envelope = Parse(packet.bytes);
  if (!envelope) return Reject(envelope.error().message);
  auto payload = ReadPayload(packet.attached.get(), envelope->payload_bytes());
  if (!payload) return Reject(payload.error().message);
  cost_ += payload->size();
  auto message = Parse(*payload);
  if (!message) return Reject(message.error().message);
  HandleParsed(std::move(*message), std::move(packet));
}

void Connection::HandleParsed(v1::AgentMessage message, Packet packet) {
  const bool hello = message.body_case() == v1::AgentMessage::kHello;
  if (greeted() == hello) return ProtocolError(greeted() ? "a second hello" : "something else before hello");
  Status valid = Validate(message);
  if (!valid) return greeted() ? Reject(valid.error().message) : ProtocolError(valid.error().message);
  if (hello) {
    if (HandleHello(message.hello())) return;
    waiting_ = std::move(packet);
    waiting_is_large_ = false;
    return;
  }
  HandleMessage(std::move(message), packet);
}

void Connection::HandleMessage(v1::AgentMessage message, const Packet& packet) {
  if (message.tsc() > received_tsc_) {
    ++counters_.future_times;
    message.set_tsc(received_tsc_);
  }
  switch (message.body_case()) {
    case v1::AgentMessage::kArenaAdd:
      return HandleArena(message.arena_add(), packet.attached.get());
    case v1::AgentMessage::kThreadAdd: {
      v1::ThreadAdd& add = *message.mutable_thread_add();
      add.set_tid(static_cast<std::uint32_t>(logs_.Tid(add.arena(), add.area(), add.use(), add.tid())));
      break;
    }
    case v1::AgentMessage::kCodeLoad:
      message.mutable_code_load()->set_load_tsc(message.tsc());
      break;
    case v1::AgentMessage::kGoodbye:
      Deliver(std::move(message));
      return Finish(GoneReason::kGoodbye, "");
    default:
      break;
  }
  Deliver(std::move(message));
}

// False: not yet.
bool Connection::HandleHello(const v1::Hello& hello) {
  Admission admission = admit_(*this, hello);
  if (admission.what == Admission::What::kLater) return false;
  if (admission.what == Admission::What::kNo) {
    Refuse(GoneReason::kRefused, "registered already", std::move(admission.reason));
    return true;
  }
  resume_ = std::move(admission.positions);
  session_ = hello.session();
  sink_.OnConnected({id_, process_.id(), process_.uid(), process_.gid(), received_tsc_, hello});
  return true;
}

void Connection::HandleArena(const v1::ArenaAdd& add, int fd) {
  if (logs_.HasArena(add.index())) return Reject(fmt::format("arena {} a second time", add.index()));
  arena_bytes_ += add.bytes();
  if (arena_bytes_ > kMaxConnectionArenas) return ProtocolError("more arenas than any agent has");
  auto arena = MapArena(fd, add.bytes());
  if (!arena) return Reject(fmt::format("arena {}: {}", add.index(), arena.error().message));
  if (logs_.areas() + (*arena)->area_count() > kMaxAreasOfConnection) {
    return Refuse(GoneReason::kRefused, "too many threads' logs",
                  fmt::format("a process may have {} areas for logs, not {}", kMaxAreasOfConnection,
                              logs_.areas() + (*arena)->area_count()));
  }
  std::vector<LogReader> readers;
  if (auto earlier = resume_.find(add.index()); earlier != resume_.end())
    readers = std::move(earlier->second);
  const std::uint64_t since = accepted_tsc_ - std::min(accepted_tsc_, kBeforeConnecting);
  logs_.AddArena(add.index(), *arena, std::move(readers), since);
  sink_.OnArena({process_.id(), add.index(), *arena});
}

void Connection::Deliver(v1::AgentMessage message) {
  ++counters_.messages;
  sink_.OnMessage({id_, process_.id(), received_tsc_, std::move(message)});
}

void Connection::Reject(std::string what) {
  ++counters_.rejected;
  sink_.OnRejected({id_, process_.id(), std::move(what)});
  if (++rejections_ > kMaxRejections) ProtocolError("too many messages that had to be rejected");
}

void Connection::ProtocolError(std::string what) {
  ++counters_.protocol_errors;
  Refuse(GoneReason::kProtocol, "protocol", std::move(what));
}

void Connection::Refuse(GoneReason reason, const char* kind, std::string detail) {
  if (end_) return;
  v1::DaemonMessage refusal;
  refusal.mutable_refusal()->set_reason(detail);
  const std::string bytes = refusal.SerializeAsString();
  (void)::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (reason == GoneReason::kRefused) ++counters_.refused;
  ++counters_.refusals[kind];
  if (!greeted()) sink_.OnRefused({process_.id().pid, process_.uid(), detail});
  Finish(reason, std::move(detail));
}

bool Connection::may_tell(const std::string& limit, std::chrono::steady_clock::time_point now) {
  const auto [told, first] = told_.try_emplace(limit, now);
  if (!first && now - told->second < std::chrono::seconds(1)) return false;
  told->second = now;
  return true;
}

void Connection::ProcessEnded() {
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCINQ, &waiting) != 0) waiting = 0;
  last_bytes_ = bytes_read_ + static_cast<std::uint64_t>(waiting) + (waiting_ ? waiting_->bytes.size() : 0);
  if (waiting == 0 && !waiting_) Finish(GoneReason::kProcessExit, "");
}

void Connection::Finish(GoneReason reason, std::string detail) {
  if (end_) return;
  end_ = End{reason, std::move(detail)};
  waiting_.reset();
  logs_.begin_pass();
}

void Connection::Reply(const v1::DaemonMessage& message) {
  std::string bytes = message.SerializeAsString();
  if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return ProtocolError("it does not read its answers");
  // What it sent before it hung up is still there.
}

void Connection::TrySettle() {
  if (!mark_ || end_ || !mark_->read_until || bytes_read_ < *mark_->read_until) return;
  if (!mark_->passing) {
    mark_->passing = true;
    logs_.begin_pass();
    return;
  }
  if (!logs_.pass_done()) return;
  sink_.OnSettled({process_.id(), mark_->tsc});
  mark_.reset();
}

LogPositions Connection::Close() {
  if (socket_ && greeted()) sink_.OnGone({id_, process_.id(), end_->reason, end_->detail});
  DiscardUnread(socket_.get());
  socket_.reset();
  return logs_.TakePositions();
}

}  // namespace tailor::registration
