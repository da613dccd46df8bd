#include "daemon/capture/host/capture_reader.h"

#include <pthread.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/os/host_files.h"
#include "proto/base/errors.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kWakeupToken = ~std::uint64_t{0};
constexpr std::uint64_t kProcessEnded = 0xFFFFFFFF;  // in place of a ring's number

// A record is stamped before it is published; a virtual CPU can be stopped in between.
constexpr TimeNs kPublishDelay = 10'000'000;
// Where nothing comes: what comes wakes the thread. The time up to which all is known stands still meanwhile,
// and a thread that waits for that hurries.
constexpr std::chrono::milliseconds kIdleInterval{1000};
// Where nobody is sampled. A recording that is added wakes the thread.
constexpr std::chrono::milliseconds kEmptyInterval{5000};
// Rounds that found nothing, before the next one is so late.
constexpr int kRoundsOfNothing = 6;

// Whether anything came.
class Noticing : public ChunkSink {
 public:
  explicit Noticing(ChunkSink& sink) : sink_(sink) {}
  void on_ring(const RingLayout& layout) override { sink_.on_ring(layout); }
  void on_chunk(RingChunk&& chunk) override {
    something_ = true;
    sink_.on_chunk(std::move(chunk));
  }
  void on_round(TimeNs horizon) override { sink_.on_round(horizon); }
  void on_ring_closed(RingIndex ring) override { sink_.on_ring_closed(ring); }
  bool something() const { return something_; }

 private:
  ChunkSink& sink_;
  bool something_ = false;
};

std::uint64_t token_of(RecordingNumber id, std::uint64_t what) {
  return std::uint64_t{id} << 32 | what;
}

}  // namespace

CaptureReader::CaptureReader(os::Os& os, ChunkSink& sink, OnEnd on_end, OpenRecording open,
                             std::chrono::milliseconds interval)
    : os_(os), sink_(sink), on_end_(std::move(on_end)), open_(std::move(open)), interval_(interval) {}

CaptureReader::~CaptureReader() {
  stop();
}

Status CaptureReader::start(Rounds rounds) {
  auto poller = os_.make_poller();
  if (!poller) return poller.error();
  poller_ = std::move(*poller);
  wakeup_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wakeup_) return os_error("eventfd: no descriptor left", errno);
  auto added = poller_->add(wakeup_.get(), kWakeupToken);
  if (!added) return added;
  by_step_ = rounds == Rounds::kByStep;
  if (!by_step_) thread_ = std::thread([this] { run(); });
  return Ok{};
}

void CaptureReader::stop() {
  if (std::exchange(by_step_, false)) {
    round();
    finish();
  }
  if (!thread_.joinable()) return;
  stopping_ = true;
  wake();
  thread_.join();
}

Result<Attached> CaptureReader::attach(pid_t pid, const CaptureOptions& options) {
  return open(pid, options, 0, false);
}

Result<Attached> CaptureReader::replace(RecordingNumber old, pid_t pid, const CaptureOptions& options) {
  CaptureOptions disabled = options;
  disabled.start_disabled = true;
  disabled.enable_on_exec = false;
  return open(pid, disabled, old, false);
}

Status CaptureReader::renew(RecordingNumber id, pid_t pid, const CaptureOptions& options) {
  CaptureOptions part = options;
  part.start_disabled = part.perf_part = true;
  part.enable_on_exec = false;
  auto opened = open(pid, part, id, true);
  if (!opened) return opened.error();
  return Ok{};
}

Result<Attached> CaptureReader::open(pid_t pid, const CaptureOptions& options, RecordingNumber replaces,
                                     bool renews) {
  Attached attached;
  {
    std::lock_guard lock(mutex_);
    attached.id = ++last_id_;
    attaching_[attached.id] = os_.now();
  }
  auto recording = open_(os_, pid, options);
  std::lock_guard lock(mutex_);
  if (!recording) {
    attaching_.erase(attached.id);
    return recording.error();
  }
  attached.sources = (*recording)->sources();
  attached.notes = (*recording)->notes();
  attached.reads_slots = (*recording)->reads_slots();
  attached.user_mode_only = (*recording)->user_mode_only();
  attached.redraws = (*recording)->redraws();
  attached.renews = (*recording)->renews();
  attached.adds_up = (*recording)->adds_up();
  to_add_.push_back({attached.id, std::move(*recording), replaces, renews});
  wake();
  return attached;
}

void CaptureReader::remove(RecordingNumber id) {
  std::lock_guard lock(mutex_);
  to_remove_.push_back(id);
  wake();
}

CaptureReader::ThreadFacts CaptureReader::threads(RecordingNumber id) {
  std::lock_guard lock(mutex_);
  const auto found = facts_.find(id);
  return found == facts_.end() ? ThreadFacts{} : found->second;
}

void CaptureReader::hurry() {
  hurried_ = true;
  wake();
}

void CaptureReader::wake() {
  std::uint64_t one = 1;
  // A full counter is a wake-up that is already under way.
  [[maybe_unused]] ssize_t written = ::write(wakeup_.get(), &one, sizeof one);
}

void CaptureReader::run() {
  ::pthread_setname_np(::pthread_self(), "tailor-rings");
  for (bool last = false; !last;) {
    last = stopping_;
    round();
    if (!last) wait_for_data(std::chrono::milliseconds::max());
  }
  finish();
}

void CaptureReader::step() {
  if (!by_step_) return;
  wait_for_data(std::chrono::milliseconds(0));
  round();
}

void CaptureReader::round() {
  take_requests();
  TimeNs began = os_.now();
  const bool hurried = hurried_.exchange(false);
  Noticing noticing(sink_);
  for (auto& [id, member] : members_) {
    if (hurried) member.recording->hurry();
    member.recording->drain(noticing);
  }
  const bool nothing = !noticing.something() && !hurried && ended_.empty();
  rounds_of_nothing_ = nothing ? std::min(rounds_of_nothing_ + 1, kRoundsOfNothing) : 0;
  tell_threads();
  tell_horizon();
  last_round_ = began;
  for (RecordingNumber id : std::exchange(ended_, {})) end(id);
}

void CaptureReader::finish() {
  while (!members_.empty()) end(members_.begin()->first);
  sink_.on_round(os_.now());
}

void CaptureReader::take_requests() {
  std::vector<NewMember> added;
  {
    std::lock_guard lock(mutex_);
    added.swap(to_add_);
    ended_.insert(ended_.end(), to_remove_.begin(), to_remove_.end());
    to_remove_.clear();
  }
  if (!added.empty()) rounds_of_nothing_ = 0;
  for (NewMember& each : added) {
    if (each.renews) {
      renew_part(each);
      continue;
    }
    if (each.replaces != 0) change_over(each);
    admit(each.id, std::move(each.recording));
  }
}

void CaptureReader::change_over(const NewMember& added) {
  const auto old = members_.find(added.replaces);
  if (old != members_.end()) {
    old->second.recording->set_enabled(false);
    ended_.push_back(added.replaces);
  }
  added.recording->set_enabled(true);
}

void CaptureReader::renew_part(NewMember& added) {
  const auto found = members_.find(added.replaces);
  if (found != members_.end()) {
    Recording& recording = *found->second.recording;
    for (std::size_t ring = 0; ring < recording.ring_count(); ++ring) {
      if (recording.poll_fd(ring) >= 0) poller_->remove(recording.poll_fd(ring));
    }
    recording.renew(std::move(added.recording), sink_);
    for (std::size_t ring = 0; ring < recording.ring_count(); ++ring) {
      if (recording.poll_fd(ring) >= 0)
        (void)poller_->add(recording.poll_fd(ring), token_of(found->first, ring));
    }
  }
  std::lock_guard lock(mutex_);
  attaching_.erase(added.id);
}

void CaptureReader::tell_threads() {
  std::lock_guard lock(mutex_);
  facts_.clear();
  for (const auto& [id, member] : members_) {
    const ThreadFacts facts{member.recording->births(), member.recording->switches_per_second()};
    if (facts.births > 0 || facts.switches_per_second > 0) facts_[id] = facts;
  }
}

// What this round found may still be overtaken by a record stamped before it began; the round before is past
// that. Recordings that are being attached record already and were not read yet.
void CaptureReader::tell_horizon() {
  if (last_round_ == kTimeMin) return;
  TimeNs horizon = last_round_ - kPublishDelay;
  for (const auto& [id, member] : members_) horizon = std::min(horizon, member.recording->complete_until());
  {
    std::lock_guard lock(mutex_);
    for (auto& [id, since] : attaching_) {
      if (!members_.contains(id)) horizon = std::min(horizon, since - kPublishDelay);
    }
    std::erase_if(attaching_, [this](const auto& each) { return members_.contains(each.first); });
  }
  sink_.on_round(horizon);
}

void CaptureReader::admit(RecordingNumber id, std::unique_ptr<Recording> recording) {
  recording->number_rings(next_ring_);
  next_ring_ += static_cast<RingIndex>(recording->ring_count());
  // Without a wake-up the ring is still read every interval, so failures here cost latency only.
  for (std::size_t ring = 0; ring < recording->ring_count(); ++ring) {
    (void)poller_->add(recording->poll_fd(ring), token_of(id, ring));
  }
  Member member;
  if (recording->pid() != kAllProcesses) {
    auto pidfd = os_.pidfd_open(recording->pid());
    if (pidfd) {
      member.pidfd = std::move(*pidfd);
      (void)poller_->add(member.pidfd.get(), token_of(id, kProcessEnded));
    } else {
      ended_.push_back(id);
    }
  }
  member.recording = std::move(recording);
  members_.emplace(id, std::move(member));
}

void CaptureReader::end(RecordingNumber id) {
  auto found = members_.find(id);
  if (found == members_.end()) return;
  Recording& recording = *found->second.recording;
  for (std::size_t ring = 0; ring < recording.ring_count(); ++ring) {
    if (recording.poll_fd(ring) >= 0) poller_->remove(recording.poll_fd(ring));
  }
  if (found->second.pidfd) poller_->remove(found->second.pidfd.get());
  recording.finish(sink_);
  CaptureCounts counts = recording.counts();
  members_.erase(found);
  on_end_(id, counts);
}

bool CaptureReader::takes_samples() const {
  return std::ranges::any_of(members_,
                             [](const auto& each) { return !each.second.recording->sources().empty(); });
}

// Longer where nothing comes, if what comes wakes us.
std::chrono::milliseconds CaptureReader::time_to_wait() {
  if (members_.empty()) return kEmptyInterval;
  const bool wanted = rounds_of_nothing_ >= kRoundsOfNothing;
  if (wanted == seldom_ && seldom_) return takes_samples() ? kIdleInterval : kEmptyInterval;
  if (wanted == seldom_) return interval_;
  seldom_ = wanted;
  for (auto& [id, member] : members_) seldom_ = member.recording->set_seldom_read(wanted) && seldom_;
  if (wanted && !seldom_) {
    for (auto& [id, member] : members_) (void)member.recording->set_seldom_read(false);
    rounds_of_nothing_ = 0;
  }
  // What came before the program knew of it wakes nobody.
  return interval_;
}

void CaptureReader::wait_for_data(std::chrono::milliseconds most) {
  auto ready = poller_->wait(std::min(time_to_wait(), most));
  if (!ready) {
    os_.sleep(interval_);
    return;
  }
  for (const os::Ready& each : *ready) handle(each);
}

void CaptureReader::handle(const os::Ready& ready) {
  if (ready.token == kWakeupToken) {
    std::uint64_t count;
    [[maybe_unused]] ssize_t got = ::read(wakeup_.get(), &count, sizeof count);
    return;
  }
  auto found = members_.find(static_cast<RecordingNumber>(ready.token >> 32));
  if (found == members_.end()) return;
  std::uint64_t what = ready.token & 0xFFFFFFFF;
  if (what == kProcessEnded) {
    poller_->remove(found->second.pidfd.get());
    found->second.pidfd.reset();
    ended_.push_back(found->first);
  } else if (ready.hangup) {
    // The thread of this event has ended and would wake us for ever: another event watches the ring.
    Recording& recording = *found->second.recording;
    poller_->remove(recording.poll_fd(what));
    int next = recording.next_poll_fd(what);
    if (next >= 0) (void)poller_->add(next, ready.token);
    if (next < 0 && is_closed(recording)) ended_.push_back(found->first);
  }
}

// Whether the kernel has closed all events of a process that goes on. (Threads that others have made may go
// on without the first one, which has no memory then; their events end with them.)
bool CaptureReader::is_closed(const Recording& recording) const {
  for (std::size_t ring = 0; ring < recording.ring_count(); ++ring)
    if (recording.poll_fd(ring) >= 0) return false;
  return recording.pid() > 0 && os::has_memory(os_, {recording.pid(), 0});
}

}  // namespace tailor::capture
