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
// The most that one pump() does: the thread of the host may be the one that calls it.
constexpr int kMessagesAPump = 256;
constexpr int kAnswersAPump = 64;

void add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

void Sender::begin(const Identity& identity) {
  identity_ = identity;
  next_attempt_ms_ = 0;
  backoff_ms_ = kFirstBackoffMs;
}

Sender::State Sender::pump() noexcept {
  if (!connection_.connected() && now_ms() >= next_attempt_ms_) try_connect();
  bool all = bring_up_to_date() && drain_queue();
  listen();
  if (full_since_ms_ != 0) return after_full();
  if (!all) return State::kMore;
  bool expecting = connection_.connected() && (!accepted_ || !acknowledged(barrier_sent_));
  return expecting ? State::kExpecting : State::kIdle;
}

Sender::State Sender::after_full() noexcept {
  if (now_ms() - full_since_ms_ <= kPatienceMs) return State::kFull;
  disconnect();
  return State::kMore;
}

std::int64_t Sender::ms_to_next_attempt() const noexcept {
  return std::clamp<std::int64_t>(next_attempt_ms_ - now_ms(), 0, kMaxBackoffMs);
}

// True if the queue is empty now.
bool Sender::drain_queue() noexcept {
  for (int taken = 0; taken < kMessagesAPump; ++taken) {
    auto message = queue_.front();
    if (!message) return true;
    if (!deliver(*message)) return false;
    queue_.pop();
    count_taken();
    std::atomic_ref(shared(&tailor_arena_header::messages_settled))
        .store(settled_, std::memory_order_release);
  }
  return false;
}

void Sender::count_taken() noexcept {
  ++settled_;
  std::atomic_ref(shared(&tailor_arena_header::messages_taken)).store(settled_, std::memory_order_release);
}

// False if there is no room in the socket: the message stays in the queue.
bool Sender::deliver(const MessageView& message) noexcept {
  auto sent = Connection::Sent::kBroken;
  if (connection_.connected()) {
    sent = send_new_arenas();
    if (sent == Connection::Sent::kYes || sent == Connection::Sent::kDropped) {
      sent = send_said(message.head, message.bytes);
    }
    if (sent == Connection::Sent::kFull) return false;
  }
  if (message.head.kind == MessageKind::kBarrier && sent == Connection::Sent::kYes) {
    barrier_sent_ = static_cast<std::uint32_t>(message.head.key);
  }
  auto outcome = LiveSet::Outcome::kTooLarge;
  try {
    outcome = live_.apply(message);
  } catch (...) {
    // Out of memory: it was sent, and a later daemon will not know it.
  }
  // What is kept reaches the daemon that comes next. Everything else is over now.
  bool comes_later = sent == Connection::Sent::kBroken && outcome == LiveSet::Outcome::kKept;
  if (sent != Connection::Sent::kYes && !comes_later) count_dropped();
  return true;
}

void Sender::count_dropped() noexcept {
  std::atomic_ref(shared(&tailor_arena_header::messages_dropped)).fetch_add(1, std::memory_order_relaxed);
}

void Sender::listen() noexcept {
  for (int heard = 0; connection_.connected() && heard < kAnswersAPump; ++heard) {
    DaemonAnswer answer = connection_.receive();
    switch (answer.kind) {
      case DaemonAnswer::Kind::kNothing:
        return;
      case DaemonAnswer::Kind::kOther:
        break;
      case DaemonAnswer::Kind::kSettings:
        untagged_permille_ = answer.untagged_permille;
        break;
      case DaemonAnswer::Kind::kAccepted:
        accepted_ = true;
        untagged_permille_ = answer.untagged_permille;
        label_sets_.begin(answer.label_sets);
        backoff_ms_ = kFirstBackoffMs;
        break;
      case DaemonAnswer::Kind::kBarrier:
        live_.end_barrier(answer.sequence);
        publish(acknowledged_, static_cast<std::uint32_t>(answer.sequence));
        break;
      case DaemonAnswer::Kind::kRefused:
      case DaemonAnswer::Kind::kClosed:
        disconnect();
        return;
    }
  }
}

bool Sender::await_barrier(std::uint32_t sequence, std::uint32_t timeout_ms) noexcept {
  return await_futex(acknowledged_, timeout_ms,
                     [sequence](std::uint32_t word) { return is_acknowledged(word, sequence); });
}

void Sender::try_connect() noexcept {
  next_attempt_ms_ = now_ms() + backoff_ms_;
  backoff_ms_ = std::min(backoff_ms_ * 2, kMaxBackoffMs);
  const bool connected = connection_.connect(identity_.socket_path);
  counters_.connect_error.store(connected ? 0 : static_cast<std::uint64_t>(errno), std::memory_order_relaxed);
  if (!connected) return;
  add(counters_.connects, 1);
  std::atomic_ref(shared(&tailor_arena_header::messages_settled)).store(0, std::memory_order_release);
  up_to_date_ = false;
  told_ = 0;
  arenas_sent_ = 0;
  label_sets_.begin(0);
  barrier_sent_ = acknowledged_;
  if (send_hello() != Connection::Sent::kYes) disconnect();
}

void Sender::disconnect() noexcept {
  full_since_ms_ = 0;
  if (!connection_.connected()) return;
  connection_.close();
  accepted_ = false;
  up_to_date_ = false;
  untagged_permille_ = 0;
  add(counters_.disconnects, 1);
  next_attempt_ms_ = std::max(next_attempt_ms_, now_ms() + kFirstBackoffMs);
}

// Tells a new connection what is live. True if nothing more needs to be told before news.
bool Sender::bring_up_to_date() noexcept {
  if (!connection_.connected() || up_to_date_) return true;
  if (send_new_arenas() == Connection::Sent::kFull) return false;
  bool done = live_.for_each_from(told_, [&](LiveSet::Order order, const LiveSet::Entry& entry) {
    auto sent = send_said(entry.head, entry.bytes);
    if (sent == Connection::Sent::kFull || sent == Connection::Sent::kBroken) return false;
    if (sent == Connection::Sent::kDropped) count_dropped();
    if (entry.head.kind == MessageKind::kBarrier) barrier_sent_ = static_cast<std::uint32_t>(entry.head.key);
    told_ = order + 1;
    return true;
  });
  if (!done) return !connection_.connected();
  up_to_date_ = true;
  std::atomic_ref(shared(&tailor_arena_header::messages_settled)).store(settled_, std::memory_order_release);
  return true;
}

Connection::Sent Sender::send_hello() noexcept {
  try {
    std::string memory(kFixedBound + identity_.engine_name.size() + identity_.engine_version.size(), '\0');
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t now = tsc();
    encode_message(wire, MessageKind::kHello, now, [&](FixedWire& body) {
      encode_hello(
          body, {identity_.engine_name, identity_.engine_version, static_cast<std::uint32_t>(::getpid()),
                 identity_.tag_key, identity_.tag_strategy, identity_.instance, identity_.tag_slot_offset});
    });
    return send(now, wire.bytes(), -1);
  } catch (...) {
    return Connection::Sent::kDropped;
  }
}

// Arenas are announced in order, before the first thread in them. One that cannot be sent is tried again with
// the next message.
Connection::Sent Sender::send_new_arenas() noexcept {
  for (; arenas_sent_ < ArenaSet::kMaxArenas; ++arenas_sent_) {
    Arena* arena = arenas_.at(arenas_sent_);
    if (!arena) break;
    int fd = arena->fd();
    if (fd < 0) {  // the host has closed it: its logs cannot be seen any more
      count_dropped();
      continue;
    }
    char memory[kFixedBound];
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t now = tsc();
    encode_message(wire, MessageKind::kArenaAdd, now, [&](FixedWire& body) {
      body.number(1, arenas_sent_);
      body.number(2, arena->bytes());
    });
    auto sent = send(now, wire.bytes(), fd);
    if (sent != Connection::Sent::kYes) return sent;
  }
  return Connection::Sent::kYes;
}

Connection::Sent Sender::send_said(const MessageHead& head, std::span<const char> bytes) noexcept {
  if (head.kind != MessageKind::kExecutionBegin) return send(head.tsc, bytes, -1);
  const Connection::Sent sent = send(head.tsc, label_sets_.shorten(bytes), -1);
  if (sent == Connection::Sent::kYes) label_sets_.sent();
  return sent;
}

Connection::Sent Sender::send(std::uint64_t tsc, std::span<const char> bytes, int attached) noexcept {
  auto sent = connection_.send(bytes, tsc, attached);
  if (sent == Connection::Sent::kFull) {
    if (full_since_ms_ == 0) full_since_ms_ = now_ms();
    return sent;
  }
  full_since_ms_ = 0;
  if (sent == Connection::Sent::kYes) {
    add(counters_.messages_sent, 1);
    add(counters_.bytes_sent, bytes.size());
  } else if (sent == Connection::Sent::kBroken) {
    disconnect();
  }
  return sent;
}

void Sender::end() noexcept {
  if (connection_.connected()) {
    char memory[kFixedBound];
    FixedWire wire{FixedMemory(memory)};
    std::uint64_t now = tsc();
    encode_message(wire, MessageKind::kGoodbye, now, [](FixedWire&) {});
    send(now, wire.bytes(), -1);  // where there is no room, the daemon sees the connection end
    disconnect();
  }
  live_.keep_threads_only();
}

void Sender::close_after_fork() noexcept {
  connection_.close();
}

void Sender::continue_after_fork(const std::array<std::uint8_t, 16>& instance) noexcept {
  identity_.instance = instance;
  accepted_ = false;
  up_to_date_ = false;
  full_since_ms_ = 0;
  next_attempt_ms_ = 0;
  backoff_ms_ = kFirstBackoffMs;
  // What the parent had not sent yet is live here too; ends of things count.
  while (auto message = queue_.front()) {
    try {
      live_.apply(*message);
    } catch (...) {
      count_dropped();
    }
    queue_.pop();
    count_taken();
  }
  live_.forget(MessageKind::kThreadAdd);
  live_.forget(MessageKind::kExecutionBegin);
  live_.forget(MessageKind::kBarrier);
}

}  // namespace tailor::agent
