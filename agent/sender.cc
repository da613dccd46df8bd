#include "agent/sender.h"

#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "agent/encode.h"
#include "agent/tsc.h"

namespace tailor::agent {

namespace {

constexpr std::int64_t kFirstBackoffMs = 50;
constexpr std::int64_t kMaxBackoffMs = 5000;
constexpr std::size_t kStackBytes = 256 * 1024;

std::int64_t NowMs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// A word that others wait for (futex).
void Publish(std::atomic<std::uint32_t>& word, std::uint32_t value) {
  word = value;
  ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

// Waits until done(word) holds, at most so long. Returns whether it does.
template <typename Done>
bool AwaitFutex(std::atomic<std::uint32_t>& word, std::uint32_t timeout_ms, Done done) {
  std::int64_t deadline = NowMs() + timeout_ms;
  while (true) {
    std::uint32_t seen = word.load();
    if (done(seen)) return true;
    std::int64_t left = deadline - NowMs();
    if (left <= 0) return false;
    timespec wait{left / 1000, (left % 1000) * 1'000'000};
    ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, &wait, nullptr, 0);
  }
}

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t n) {
  counter.fetch_add(n, std::memory_order_relaxed);
}

}  // namespace

Sender::~Sender() {
  if (event_fd_ >= 0) ::close(event_fd_);
}

bool Sender::Start(const Identity& identity) noexcept {
  try {
    identity_ = identity;
  } catch (...) {
    return false;
  }
  if (event_fd_ < 0) event_fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event_fd_ < 0) return false;
  stop_ = false;
  give_up_ = false;
  finished_ = 0;
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = ::pthread_create(&thread_, &attributes, &Sender::ThreadMain, this);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  return error == 0;
}

bool Sender::Stop(std::uint32_t timeout_ms) noexcept {
  stop_ = true;
  Ring();
  bool ended = AwaitFutex(finished_, timeout_ms, [](std::uint32_t word) { return word != 0; });
  if (ended) {
    ::pthread_join(thread_, nullptr);
  } else {
    give_up_ = true;
    ::pthread_detach(thread_);
  }
  return ended;
}

void* Sender::ThreadMain(void* self) noexcept {
  ::pthread_setname_np(::pthread_self(), "tailor-agent");
  auto* sender = static_cast<Sender*>(self);
  sender->Run();
  Publish(sender->finished_, 1);
  return nullptr;
}

void Sender::Run() noexcept {
  next_attempt_ms_ = 0;
  backoff_ms_ = kFirstBackoffMs;
  while (!stop_.load(std::memory_order_relaxed)) {
    if (!connection_.connected() && NowMs() >= next_attempt_ms_) TryConnect();
    DrainQueue();
    if (connection_.connected()) Listen();
    Sleep();
  }
  DrainQueue();
  SayGoodbye();
}

void Sender::Ring() noexcept {
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t written = ::write(event_fd_, &one, sizeof(one));
}

void Sender::Sleep() noexcept {
  sleeping_.store(true);
  // A producer that commits from here on sees the flag; one that committed before is seen now.
  if (queue_.Front() || stop_.load(std::memory_order_relaxed)) {
    sleeping_.store(false);
    return;
  }
  pollfd wait[2] = {{event_fd_, POLLIN, 0}, {connection_.fd(), POLLIN, 0}};
  std::int64_t timeout = -1;
  if (!connection_.connected())
    timeout = std::clamp<std::int64_t>(next_attempt_ms_ - NowMs(), 0, kMaxBackoffMs);
  ::poll(wait, connection_.connected() ? 2 : 1, static_cast<int>(timeout));
  sleeping_.store(false);
  std::uint64_t count = 0;
  [[maybe_unused]] ssize_t read = ::read(event_fd_, &count, sizeof(count));
}

void Sender::DrainQueue() noexcept {
  constexpr int kListenEvery = 64;  // a busy queue must not keep the daemon's words waiting
  for (int taken = 1; auto message = queue_.Front(); ++taken) {
    if (give_up_.load(std::memory_order_relaxed)) return;
    Deliver(*message);
    queue_.Pop();
    ++settled_;
    std::atomic_ref(Shared(&tailor_arena_header::messages_settled))
        .store(settled_, std::memory_order_release);
    if (taken % kListenEvery == 0 && connection_.connected()) Listen();
  }
}

void Sender::Deliver(const MessageView& message) noexcept {
  auto outcome = LiveSet::Outcome::kTooLarge;
  try {
    outcome = live_.Apply(message);
  } catch (...) {
    // Out of memory: it is sent now, and a later daemon will not know it.
  }
  auto sent = Connection::Sent::kBroken;
  if (connection_.connected() && SendNewArenas() != Connection::Sent::kBroken) {
    sent = Send(message.head.tsc, message.bytes, -1);
  }
  // What is kept reaches the daemon that comes next. Everything else is over now.
  bool comes_later = sent == Connection::Sent::kBroken && outcome == LiveSet::Outcome::kKept;
  if (sent != Connection::Sent::kYes && !comes_later) CountDropped();
}

void Sender::CountDropped() noexcept {
  std::atomic_ref(Shared(&tailor_arena_header::messages_dropped)).fetch_add(1, std::memory_order_relaxed);
}

void Sender::Listen() noexcept {
  while (connection_.connected()) {
    DaemonAnswer word = connection_.Receive();
    switch (word.kind) {
      case DaemonAnswer::Kind::kNothing:
        return;
      case DaemonAnswer::Kind::kAccepted:
        accepted_ = true;
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
  return AwaitFutex(acknowledged_, timeout_ms, [sequence](std::uint32_t word) {
    return static_cast<std::int32_t>(word - sequence) >= 0;
  });
}

void Sender::TryConnect() noexcept {
  next_attempt_ms_ = NowMs() + backoff_ms_;
  backoff_ms_ = std::min(backoff_ms_ * 2, kMaxBackoffMs);
  if (!connection_.Connect(identity_.socket_path)) return;
  Add(counters_.connects, 1);
  BringUpToDate();
}

void Sender::Disconnect() noexcept {
  if (!connection_.connected()) return;
  connection_.Close();
  accepted_ = false;
  Add(counters_.disconnects, 1);
  next_attempt_ms_ = std::max(next_attempt_ms_, NowMs() + kFirstBackoffMs);
}

void Sender::BringUpToDate() noexcept {
  std::atomic_ref settled(Shared(&tailor_arena_header::messages_settled));
  settled.store(0, std::memory_order_release);
  arenas_sent_ = 0;
  if (SendHello() != Connection::Sent::kYes) return Disconnect();
  if (SendNewArenas() == Connection::Sent::kBroken) return;
  bool done = live_.ForEach([&](const LiveSet::Entry& entry) {
    auto sent = Send(entry.head.tsc, entry.bytes, -1);
    if (sent == Connection::Sent::kDropped) CountDropped();
    return sent != Connection::Sent::kBroken;
  });
  if (done) settled.store(settled_, std::memory_order_release);
}

Connection::Sent Sender::SendHello() noexcept {
  try {
    std::string memory(kFixedBound + identity_.engine_name.size() + identity_.engine_version.size(), '\0');
    Encoder encoder(memory);
    std::uint64_t tsc = Tsc();
    EncodeMessage(encoder, MessageKind::kHello, tsc, [&](Encoder::Writer& body) {
      EncodeHello(encoder, body,
                  {identity_.engine_name, identity_.engine_version, static_cast<std::uint32_t>(::getpid()),
                   identity_.tag_key, identity_.tag_strategy, identity_.session, identity_.tag_slot_offset});
    });
    return Send(tsc, encoder.bytes(), -1);
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
    char memory[kFixedBound];
    try {
      Encoder encoder(memory);
      std::uint64_t tsc = Tsc();
      EncodeMessage(encoder, MessageKind::kArenaAdd, tsc, [&](Encoder::Writer& body) {
        body.add_uint32(1, arenas_sent_);
        body.add_uint64(2, arena->bytes());
      });
      auto sent = Send(tsc, encoder.bytes(), arena->fd());
      if (sent != Connection::Sent::kYes) return sent;
    } catch (...) {
      return Connection::Sent::kDropped;
    }
  }
  return Connection::Sent::kYes;
}

Connection::Sent Sender::Send(std::uint64_t tsc, std::span<const char> bytes, int attached) noexcept {
  auto sent = connection_.Send(bytes, tsc, attached, give_up_);
  if (sent == Connection::Sent::kYes) {
    Add(counters_.messages_sent, 1);
    Add(counters_.bytes_sent, bytes.size());
  } else if (sent == Connection::Sent::kBroken) {
    Disconnect();
  }
  return sent;
}

void Sender::SayGoodbye() noexcept {
  if (connection_.connected()) {
    char memory[kFixedBound];
    try {
      Encoder encoder(memory);
      std::uint64_t tsc = Tsc();
      EncodeMessage(encoder, MessageKind::kGoodbye, tsc, [](Encoder::Writer&) {});
      Send(tsc, encoder.bytes(), -1);
    } catch (...) {
      // The daemon sees the connection end.
    }
    Disconnect();
  }
  live_.KeepThreadsOnly();
}

void Sender::CloseAfterFork() noexcept {
  connection_.Close();
  if (event_fd_ >= 0) ::close(event_fd_);
}

}  // namespace tailor::agent
