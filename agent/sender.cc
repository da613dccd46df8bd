#include "agent/sender.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "agent/encode.h"
#include "agent/tsc.h"

namespace tailor::agent {

namespace {

constexpr std::int64_t kFirstBackoffMs = 50;
constexpr std::int64_t kMaxBackoffMs = 5000;
// A daemon that takes nothing for so long is given up.
constexpr std::int64_t kPatienceMs = 5000;
// Most of one Pump: the host may be the one who pumps.
constexpr int kMessagesAPump = 256;
constexpr int kWordsAPump = 64;

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

void Sender::Begin(const Identity& identity) {
  identity_ = identity;
  next_attempt_ms_ = 0;
  backoff_ms_ = kFirstBackoffMs;
}

Sender::State Sender::Pump() noexcept {
  if (!connection_.connected() && NowMs() >= next_attempt_ms_) TryConnect();
  bool all = BringUpToDate() && DrainQueue();
  Listen();
  if (full_since_ms_ != 0) return AfterFull();
  if (!all) return State::kMore;
  bool expecting = connection_.connected() && (!accepted_ || !Acknowledged(barrier_sent_));
  return expecting ? State::kExpecting : State::kIdle;
}

Sender::State Sender::AfterFull() noexcept {
  if (NowMs() - full_since_ms_ <= kPatienceMs) return State::kFull;
  Disconnect();
  return State::kMore;
}

std::int64_t Sender::MsToNextAttempt() const noexcept {
  return std::clamp<std::int64_t>(next_attempt_ms_ - NowMs(), 0, kMaxBackoffMs);
}

// True if the queue is empty now.
bool Sender::DrainQueue() noexcept {
  for (int taken = 0; taken < kMessagesAPump; ++taken) {
    auto message = queue_.Front();
    if (!message) return true;
    if (!Deliver(*message)) return false;
    queue_.Pop();
    ++settled_;
    std::atomic_ref(Shared(&tailor_arena_header::messages_settled))
        .store(settled_, std::memory_order_release);
  }
  return false;
}

// False if there is no room in the socket: the message stays in the queue.
bool Sender::Deliver(const MessageView& message) noexcept {
  auto sent = Connection::Sent::kBroken;
  if (connection_.connected()) {
    sent = SendNewArenas();
    if (sent == Connection::Sent::kYes || sent == Connection::Sent::kDropped) {
      sent = Send(message.head.tsc, message.bytes, -1);
    }
    if (sent == Connection::Sent::kFull) return false;
  }
  if (message.head.kind == MessageKind::kBarrier && sent == Connection::Sent::kYes) {
    barrier_sent_ = static_cast<std::uint32_t>(message.head.key);
  }
  auto outcome = LiveSet::Outcome::kTooLarge;
  try {
    outcome = live_.Apply(message);
  } catch (...) {
    // Out of memory: it was sent, and a later daemon will not know it.
  }
  // What is kept reaches the daemon that comes next. Everything else is over now.
  bool comes_later = sent == Connection::Sent::kBroken && outcome == LiveSet::Outcome::kKept;
  if (sent != Connection::Sent::kYes && !comes_later) CountDropped();
  return true;
}

void Sender::CountDropped() noexcept {
  std::atomic_ref(Shared(&tailor_arena_header::messages_dropped)).fetch_add(1, std::memory_order_relaxed);
}

void Sender::Listen() noexcept {
  for (int heard = 0; connection_.connected() && heard < kWordsAPump; ++heard) {
    DaemonAnswer word = connection_.Receive();
    switch (word.kind) {
      case DaemonAnswer::Kind::kNothing:
        return;
      case DaemonAnswer::Kind::kOther:
        break;
      case DaemonAnswer::Kind::kSettings:
        untagged_permille_ = word.untagged_permille;
        break;
      case DaemonAnswer::Kind::kAccepted:
        accepted_ = true;
        untagged_permille_ = word.untagged_permille;
        backoff_ms_ = kFirstBackoffMs;
        break;
      case DaemonAnswer::Kind::kBarrier:
        live_.EndBarrier(word.sequence);
        Publish(acknowledged_, static_cast<std::uint32_t>(word.sequence));
        break;
      case DaemonAnswer::Kind::kRefused:
      case DaemonAnswer::Kind::kClosed:
        Disconnect();
        return;
    }
  }
}

bool Sender::AwaitBarrier(std::uint32_t sequence, std::uint32_t timeout_ms) noexcept {
  return AwaitFutex(acknowledged_, timeout_ms,
                    [sequence](std::uint32_t word) { return IsAcknowledged(word, sequence); });
}

void Sender::TryConnect() noexcept {
  next_attempt_ms_ = NowMs() + backoff_ms_;
  backoff_ms_ = std::min(backoff_ms_ * 2, kMaxBackoffMs);
  const bool connected = connection_.Connect(identity_.socket_path);
  counters_.connect_error.store(connected ? 0 : static_cast<std::uint64_t>(errno), std::memory_order_relaxed);
  if (!connected) return;
  Add(counters_.connects, 1);
  std::atomic_ref(Shared(&tailor_arena_header::messages_settled)).store(0, std::memory_order_release);
  up_to_date_ = false;
  told_ = 0;
  arenas_sent_ = 0;
  barrier_sent_ = acknowledged_;
  if (SendHello() != Connection::Sent::kYes) Disconnect();
}

void Sender::Disconnect() noexcept {
  full_since_ms_ = 0;
  if (!connection_.connected()) return;
  connection_.Close();
  accepted_ = false;
  up_to_date_ = false;
  untagged_permille_ = 0;
  Add(counters_.disconnects, 1);
  next_attempt_ms_ = std::max(next_attempt_ms_, NowMs() + kFirstBackoffMs);
}

// Tells a new connection what is live. True if nothing more needs to be told before news.
bool Sender::BringUpToDate() noexcept {
  if (!connection_.connected() || up_to_date_) return true;
  if (SendNewArenas() == Connection::Sent::kFull) return false;
  bool done = live_.ForEachFrom(told_, [&](LiveSet::Order order, const LiveSet::Entry& entry) {
    auto sent = Send(entry.head.tsc, entry.bytes, -1);
    if (sent == Connection::Sent::kFull || sent == Connection::Sent::kBroken) return false;
    if (sent == Connection::Sent::kDropped) CountDropped();
    if (entry.head.kind == MessageKind::kBarrier) barrier_sent_ = static_cast<std::uint32_t>(entry.head.key);
    told_ = order + 1;
    return true;
  });
  if (!done) return !connection_.connected();
  up_to_date_ = true;
  std::atomic_ref(Shared(&tailor_arena_header::messages_settled)).store(settled_, std::memory_order_release);
  return true;
}

Connection::Sent Sender::SendHello() noexcept {
  try {
    std::string memory(kFixedBound + identity_.engine_name.size() + identity_.engine_version.size(), '\0');
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t tsc = Tsc();
    EncodeMessage(wire, MessageKind::kHello, tsc, [&](FixedWire& body) {
      EncodeHello(body,
                  {identity_.engine_name, identity_.engine_version, static_cast<std::uint32_t>(::getpid()),
                   identity_.tag_key, identity_.tag_strategy, identity_.session, identity_.tag_slot_offset});
    });
    return Send(tsc, wire.bytes(), -1);
  } catch (...) {
    return Connection::Sent::kDropped;
  }
}

// Arenas are announced in order, before the first thread in them. One that cannot be sent is tried again with
// the next message.
Connection::Sent Sender::SendNewArenas() noexcept {
  for (; arenas_sent_ < ArenaSet::kMaxArenas; ++arenas_sent_) {
    Arena* arena = arenas_.at(arenas_sent_);
    if (!arena) break;
    int fd = arena->fd();
    if (fd < 0) {  // the host has closed it: its logs cannot be seen any more
      CountDropped();
      continue;
    }
    char memory[kFixedBound];
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t tsc = Tsc();
    EncodeMessage(wire, MessageKind::kArenaAdd, tsc, [&](FixedWire& body) {
      body.Number(1, arenas_sent_);
      body.Number(2, arena->bytes());
    });
    auto sent = Send(tsc, wire.bytes(), fd);
    if (sent != Connection::Sent::kYes) return sent;
  }
  return Connection::Sent::kYes;
}

Connection::Sent Sender::Send(std::uint64_t tsc, std::span<const char> bytes, int attached) noexcept {
  auto sent = connection_.Send(bytes, tsc, attached);
  if (sent == Connection::Sent::kFull) {
    if (full_since_ms_ == 0) full_since_ms_ = NowMs();
    return sent;
  }
  full_since_ms_ = 0;
  if (sent == Connection::Sent::kYes) {
    Add(counters_.messages_sent, 1);
    Add(counters_.bytes_sent, bytes.size());
  } else if (sent == Connection::Sent::kBroken) {
    Disconnect();
  }
  return sent;
}

void Sender::End() noexcept {
  if (connection_.connected()) {
    char memory[kFixedBound];
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t tsc = Tsc();
    EncodeMessage(wire, MessageKind::kGoodbye, tsc, [](FixedWire&) {});
    Send(tsc, wire.bytes(), -1);  // where there is no room, the daemon sees the connection end
    Disconnect();
  }
  live_.KeepThreadsOnly();
}

void Sender::CloseAfterFork() noexcept {
  connection_.Close();
}

void Sender::ContinueAfterFork(const std::array<std::uint8_t, 16>& session) noexcept {
  identity_.session = session;
  accepted_ = false;
  up_to_date_ = false;
  full_since_ms_ = 0;
  next_attempt_ms_ = 0;
  backoff_ms_ = kFirstBackoffMs;
  // What the parent had not sent yet is live here too; ends of things count.
  while (auto message = queue_.Front()) {
    try {
      live_.Apply(*message);
    } catch (...) {
      CountDropped();
    }
    queue_.Pop();
    ++settled_;
  }
  live_.Forget(MessageKind::kThreadAdd);
  live_.Forget(MessageKind::kExecutionBegin);
  live_.Forget(MessageKind::kBarrier);
}

}  // namespace tailor::agent
