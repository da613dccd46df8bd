#include "agent/background.h"

#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <new>
#include <utility>

namespace tailor::agent {

namespace {

constexpr std::size_t kStackBytes = 256 * 1024;
constexpr std::int64_t kFullMs = 10;
constexpr std::int64_t kMostExpectingMs = 20;

void await_socket(int socket, short events, std::int64_t timeout_ms) {
  pollfd wait{socket, events, 0};
  ::poll(&wait, 1, static_cast<int>(timeout_ms));
}

}  // namespace

bool Background::start(const Identity& identity) noexcept {
  auto* run = new (std::nothrow) Run;
  if (!run) return false;
  try {
    run->identity = identity;
  } catch (...) {
    delete run;
    return false;
  }
  run->owner = this;
  run->before = run_;
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) {
    delete run;
    return false;
  }
  ::pthread_attr_setstacksize(&attributes, kStackBytes);
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = ::pthread_create(&run->thread, &attributes, &Background::thread_main, run);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (error != 0) {
    delete run;
    return false;
  }
  run_ = run;
  return true;
}

void Background::stop(std::uint32_t timeout_ms) noexcept {
  if (!run_) return;
  run_->deadline_ms = now_ms() + timeout_ms;
  run_->stop = true;
  waker_.wake();
  // Between two pumps the thread is quick; most of the wait is its own for the daemon.
  if (!await_futex(run_->ended, timeout_ms, [](std::uint32_t word) { return word != 0; })) return;
  ::pthread_join(run_->thread, nullptr);
  delete run_;
  run_ = nullptr;
}

void* Background::thread_main(void* argument) noexcept {
  auto& run = *static_cast<Run*>(argument);
  ::pthread_setname_np(::pthread_self(), "tailor-agent");
  if (run.before) {
    ::pthread_join(run.before->thread, nullptr);
    delete run.before;
    run.before = nullptr;
  }
  run.owner->work(run);
  publish(run.ended, 1);
  return nullptr;
}

void Background::work(Run& run) noexcept {
  try {
    sender_.begin(run.identity);
  } catch (...) {
    return;  // memory is short
  }
  while (!run.stop.load(std::memory_order_relaxed)) wait(run, sender_.pump());
  for (Sender::State state = sender_.pump(); state == Sender::State::kMore || state == Sender::State::kFull;
       state = sender_.pump()) {
    std::int64_t left = run.deadline_ms - now_ms();
    if (left <= 0) break;
    if (state == Sender::State::kFull) await_socket(sender_.socket(), POLLOUT, std::min(left, kFullMs));
  }
  sender_.end();
}

void Background::wait(const Run& run, Sender::State state) noexcept {
  bool was_full = std::exchange(was_full_, state == Sender::State::kFull);
  if (state != Sender::State::kExpecting) expecting_since_ms_ = 0;
  auto ready = [&] { return !sender_.queue_empty() || run.stop.load(std::memory_order_relaxed); };
  switch (state) {
    case Sender::State::kMore:
      return;
    case Sender::State::kFull:
      // A socket that seems to have room and takes nothing (memory is short) must not keep us busy.
      if (was_full) return waker_.sleep(kFullMs, [] { return false; });
      return await_socket(sender_.socket(), POLLOUT | POLLIN, kFullMs);
    case Sender::State::kExpecting: {
      if (expecting_since_ms_ == 0) expecting_since_ms_ = now_ms();
      std::int64_t slice = (now_ms() - expecting_since_ms_) / 4 + 1;
      if (!ready()) await_socket(sender_.socket(), POLLIN, std::min(slice, kMostExpectingMs));
      return;
    }
    case Sender::State::kIdle:
      waker_.sleep(sender_.connected() ? listen_ms(quiet_ms()) : sender_.ms_to_next_attempt(), ready);
  }
}

// Since something was said.
std::int64_t Background::quiet_ms() noexcept {
  const std::uint64_t said = sender_.counters().messages_sent.load(std::memory_order_relaxed);
  if (std::exchange(said_, said) != said) quiet_since_ms_ = now_ms();
  return now_ms() - quiet_since_ms_;
}

}  // namespace tailor::agent
