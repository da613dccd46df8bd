#include "daemon/registration/connection.h"

#include <fmt/format.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <x86intrin.h>

#include <algorithm>

#include "daemon/registration/attachment.h"
#include "daemon/registration/limits.h"
#include "daemon/registration/message_parser.h"

namespace tailor::registration {

namespace {

// A fair share of one connection before others get their turn.
constexpr std::size_t kPacketsAStep = 256;
constexpr std::size_t kBytesAStep = 16 * 1024 * 1024;
constexpr std::size_t kRecordsAStep = 1'000'000;

}  // namespace

std::uint64_t OrderedTsc() {
  _mm_lfence();
  std::uint64_t tsc = __rdtsc();
  _mm_lfence();
  return tsc;
}

Connection::Connection(ConnectionId id, UniqueFd socket, PeerProcess process, Sink& sink, Counters& counters,
                       Admit admit)
    : id_(id),
      socket_(std::move(socket)),
      process_(std::move(process)),
      sink_(sink),
      counters_(counters),
      admit_(std::move(admit)),
      logs_(process_, counters_) {}

void Connection::Step() {
  if (end_) return;
  AdvanceMark();
  ReadSome();
  TrySettle();
}

// A busy agent's socket may never be empty, so what lies in it at the right moment is measured instead.
void Connection::AdvanceMark() {
  const ArenaView* first = logs_.first_arena();
  if (!first) return;
  if (!mark_) {
    std::uint64_t tsc = OrderedTsc();
    mark_ = Mark{tsc, first->MessagesQueued(), std::nullopt};
  }
  if (mark_->read_until || first->MessagesSettled() < mark_->queued) return;
  int waiting = 0;
  if (::ioctl(socket_.get(), SIOCINQ, &waiting) == 0) {
    mark_->read_until = bytes_read_ + static_cast<std::uint64_t>(waiting);
  }
}

void Connection::ReadToEnd() {
  while (!end_ && !ReadSome()) {
  }
}

// True if the socket is empty now.
bool Connection::ReadSome() {
  step_bytes_ = 0;
  for (std::size_t i = 0; i < kPacketsAStep && step_bytes_ < kBytesAStep && !end_; ++i) {
    Packet packet = ReceivePacket(socket_.get());
    if (packet.state == Packet::State::kNothing) return true;
    if (packet.state == Packet::State::kEnd) {
      Finish(GoneReason::kHangup, "");
      return true;
    }
    received_tsc_ = OrderedTsc();
    bytes_read_ += packet.bytes.size();
    Handle(std::move(packet));
  }
  return end_.has_value();
}

void Connection::Handle(Packet packet) {
  step_bytes_ += packet.bytes.size();
  if (packet.sender != process_.id().pid) {
    ++counters_.foreign_packets;
    return;
  }
  if (packet.oversized) return ProtocolError("packet with more bytes or descriptors than any agent sends");
  auto message = Parse(packet.bytes);
  if (!message) return greeted() ? Reject(message.error().message) : ProtocolError(message.error().message);
  if (IsEnvelope(*message)) {
    auto payload = ReadPayload(packet.attached.get(), message->payload_bytes());
    if (!payload) return Reject(payload.error().message);
    step_bytes_ += payload->size();
    message = Parse(*payload);
    if (!message) return Reject(message.error().message);
  }
  if (greeted() == (message->body_case() == v1::AgentMessage::kHello)) {
    return ProtocolError(greeted() ? "a second hello" : "something else before hello");
  }
  Status valid = Validate(*message);
  if (!valid) return greeted() ? Reject(valid.error().message) : ProtocolError(valid.error().message);
  HandleMessage(std::move(*message), packet);
}

void Connection::HandleMessage(v1::AgentMessage message, const Packet& packet) {
  if (message.tsc() > received_tsc_) {
    ++counters_.future_times;
    message.set_tsc(received_tsc_);
  }
  switch (message.body_case()) {
    case v1::AgentMessage::kHello:
      return HandleHello(message.hello());
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

void Connection::HandleHello(const v1::Hello& hello) {
  auto resume = admit_(*this, hello);
  if (!resume) {
    ++counters_.refused;
    v1::DaemonMessage refusal;
    refusal.mutable_refusal()->set_reason(resume.error().message);
    Reply(refusal);
    return Finish(GoneReason::kRefused, resume.error().message);
  }
  resume_ = std::move(*resume);
  session_ = hello.session();
  sink_.OnConnected({id_, process_.id(), process_.uid(), process_.gid(), received_tsc_, hello});
}

void Connection::HandleArena(const v1::ArenaAdd& add, int fd) {
  if (logs_.HasArena(add.index())) return Reject(fmt::format("arena {} a second time", add.index()));
  arena_bytes_ += add.bytes();
  if (arena_bytes_ > kMaxConnectionArenas) return ProtocolError("more arenas than any agent has");
  auto arena = MapArena(fd, add.bytes());
  if (!arena) return Reject(fmt::format("arena {}: {}", add.index(), arena.error().message));
  std::vector<LogReader> readers;
  if (auto earlier = resume_.find(add.index()); earlier != resume_.end())
    readers = std::move(earlier->second);
  logs_.AddArena(add.index(), *arena, std::move(readers));
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
  Finish(GoneReason::kProtocol, std::move(what));
}

void Connection::Finish(GoneReason reason, std::string detail) {
  if (!end_) end_ = End{reason, std::move(detail)};
}

void Connection::Reply(const v1::DaemonMessage& message) {
  std::string bytes = message.SerializeAsString();
  if (::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) return;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return ProtocolError("it does not read its answers");
  Finish(GoneReason::kHangup, "");
}

void Connection::TrySettle() {
  bool drained = logs_.Drain(sink_, kRecordsAStep);
  bool read = mark_ && mark_->read_until && bytes_read_ >= *mark_->read_until;
  if (!read || !drained || end_) return;
  sink_.OnSettled({process_.id(), mark_->tsc});
  mark_.reset();
}

LogPositions Connection::Close() {
  if (socket_ && greeted()) {
    logs_.Drain(sink_, SIZE_MAX);
    sink_.OnGone({id_, process_.id(), end_->reason, end_->detail});
  }
  socket_.reset();
  return logs_.TakePositions();
}

}  // namespace tailor::registration
