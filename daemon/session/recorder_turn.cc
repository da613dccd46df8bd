// What the control thread of a recording does at each of its turns.
#include <pthread.h>

#include <utility>
#include <variant>
#include <vector>

#include "daemon/os/host_files.h"
#include "daemon/session/pace.h"
#include "daemon/session/recorder.h"

namespace tailor::session {
namespace {

constexpr TimeNs kSweepInterval = 5'000'000'000;
// What runtimes write of their code: well below PipelineOptions::delay.
constexpr TimeNs kForeignInterval = 100'000'000, kDumpInterval = 20'000'000;
constexpr TimeNs kQuietAfter = 300'000'000;
// By then the store has written, and made safe, what those before have left (StoreOptions::sync_interval).
constexpr TimeNs kForgottenAfter = 15'000'000'000;
// Of processes that do nothing.
constexpr TimeNs kSeldomSweepInterval = 30'000'000'000;
// Where nothing changes. A request for the status of the daemon has it published before.
constexpr TimeNs kQuietPublishInterval = 1'000'000'000;
constexpr TimeNs kLookAgainAfter = 10'000'000;

}  // namespace

void Recorder::control() {
  ::pthread_setname_np(::pthread_self(), "tailor-control");
  for (bool last = false; !last;) {
    last = requests_.ending();
    turn(last);
  }
}

void Recorder::turn(bool last) {
  wait_and_listen(last);
  look_at_clocks();
  if (os_.now() >= next_foreign_) look_at_foreign();
  backlog_.take(last,
                [this](CaptureMessage& each, unwind::Patience* patience) { return take(each, patience); });
  pebs_.watch();
  if (!last && !ending_) {
    rates_.take(options_.ask_rates);
    rates_.look();
    changes_.watch_threads();
    changes_.redraw_periods();
  }
  for (const std::int32_t pid : stacks_.take_dumpers()) {
    foreign_.mapped_dump(pid);
    next_foreign_ = kTimeMin;
  }
  foreign_.say();
  for (const auto& [process, since] : pipeline_.take_lost_maps()) look_again(process, since);
  take_first_looks();
  input_.advance(first_looks_.known_until(foreign_.known_until(os_.now())));
  requests_.do_all([this] { publish(); });
  finish_flushes();
  tell_problems();
  tell_limits();
  cpu_.settle();
  names_.look();
  if (os_.now() >= next_sweep_) sweep();
  if (rules_.is_waiting() && os_.now() >= next_rules_) look_at_rules();
  if (!last) changes_.govern();
  const bool was_idle = std::exchange(idle_, server_->connection_count() == 0 && sampled_.all().empty());
  const bool was_quiet = std::exchange(quiet_, is_quiet());
  const TimeNs due = next_publish_ + (quiet_ ? kQuietPublishInterval : 0);
  if (last || os_.now() >= due || idle_ != was_idle || quiet_ != was_quiet) publish();
}

// Until there is something to do; hears what agents have said by then.
void Recorder::wait_and_listen(bool last) {
  const TimeNs before = std::exchange(listened_, os_.now());
  const PaceFacts facts{.idle = idle_,
                        .forgotten = listened_ - stirred_ > kForgottenAfter,
                        .quiet = is_quiet(),
                        .least_log = server_->least_log(),
                        .awaited = !flushes_.empty() || foreign_.is_behind() || backlog_.waits() ||
                                   first_looks_.is_awaited(listened_) || rules_.is_waiting(),
                        .fullest_log = server_->take_fullest_log(),
                        .read_after_ms = static_cast<double>(listened_ - before) / 1e6};
  int wait_ms = last || by_step_ || backlog_.is_behind() ? 0 : round_ms(facts);
  if (wait_ms > kRoundMs && !queue_.set_asleep(true)) wait_ms = 0;  // there is something to take
  step_.end();
  server_->poll(wait_ms);
  (void)queue_.set_asleep(false);
}

// All registered processes are sampled, so that the reader sees it when one of them begins to work.
bool Recorder::is_quiet() const {
  return listened_ - stirred_ > kQuietAfter && pipeline_.stats().pending == 0 && !foreign_.is_pending() &&
         !overhead_.enabled() && sampled_.count() >= server_->connection_count();
}

// As CaptureBacklog::Take.
bool Recorder::take(CaptureMessage& message, unwind::Patience* patience) {
  if (const auto* layout = std::get_if<capture::RingLayout>(&message)) {
    ids_.ring(*layout);
    input_.on_ring(stacks_.layout(*layout));
  } else if (auto* chunk = std::get_if<capture::RingChunk>(&message)) {
    return take_chunk(*chunk, patience);
  } else if (const auto* round = std::get_if<RoundRead>(&message)) {
    input_.on_round(round->horizon);
  } else if (const auto* closed = std::get_if<RingClosed>(&message)) {
    ids_.closed(closed->ring);
    stacks_.closed(closed->ring);
    input_.on_ring_closed(closed->ring);
  } else if (const auto* ended = std::get_if<RecordingEnded>(&message)) {
    recording_ended(*ended);
  }
  return true;
}

bool Recorder::take_chunk(capture::RingChunk& chunk, unwind::Patience* patience) {
  stirred_ = listened_;
  if (!stacks_.is_busy()) {
    if (flushed_) {
      ids_.take_last(chunk);
    } else if (!ids_.take(chunk, patience)) {
      return false;
    }
    names_.chunk(chunk);
    stacks_.begin(std::move(chunk));
  }
  const auto finished = stacks_.finish(patience);
  if (finished) input_.on_chunk(*finished);
  return finished.has_value();
}

// Records of what it has mapped were lost.
void Recorder::look_again(ProcessId process, TimeNs since) {
  const ProcessSampling* sampled = sampled_.find(process);
  if (sampled == nullptr) return;
  if (!first_looks_.again(process, since, capture::wants_memory_map(sampled->options))) return;
  on_problem_({process,
               "more was mapped at once, by whatever process, than the kernel's ring holds: records of "
               "mappings were lost, and what this process has mapped is read again"});
}

void Recorder::take_first_looks() {
  first_looks_.take(
      [this](const pipeline::KnownProcess& process) {
        input_.on_known_process(process);
        names_.known(process);
      },
      [this](ProcessId process) {
        on_problem_({process,
                     "what it had mapped before it was sampled could not be read within 30 s: "
                     "functions there have no names"});
      });
}

// Its events are closed, and everything they took was handed over.
void Recorder::recording_ended(const RecordingEnded& ended) {
  const auto over = sampled_.ended(ended);
  if (!over) return;
  const ProcessSampling& before = over->sampling;
  if (over->state == SamplingState::kPausing) {
    if (!ending_) paused_.closed(before, ended.time);
    return;
  }
  if (over->state == SamplingState::kReopening && !ending_ && pebs_.reopen(before)) return;
  rates_.forget(before.process);
  if (over->state == SamplingState::kLeaving || over->state == SamplingState::kIgnoring) return;
  const bool lives = os::has_memory(os_, before.process);
  if (over->state == SamplingState::kSampling && !ending_ && lives) tell_closed(before.process);
  if (!lives) sampled_.states().forget_why_not(before.process);
  input_.advance(os_.now());
  input_.on_process_ended(before.process);
}

// The process goes on, but its events do not, and nobody here has closed them.
void Recorder::tell_closed(ProcessId process) {
  constexpr const char* kWhy =
      "it executed a program that has the rights of another user or group, or that it may not read: Linux "
      "closes all events of a process then. `tailor record -p` samples it while it runs";
  sampled_.states().set_why_not(process, kWhy);
  on_problem_({process, kWhy});
}

void Recorder::look_at_foreign() {
  next_foreign_ = os_.now() + (foreign_.reads_dumps() ? kDumpInterval : kForeignInterval);
  foreign_.look({.follows_children = sampled_.first_with_children() != nullptr,
                 .ending = ending_,
                 .all_read = flushed_,
                 .is_sampled = [this](ProcessId process) {
                   return sampled_.contains(process) || paused_.contains(process);
                 }});
}

void Recorder::finish_flushes() {
  const auto done = flushes_.take_due(
      os_.now(), [this](TimeNs time) { return arrived(time); }, [this](TimeNs time) { input_.flush(time); });
  if (done.empty()) return;
  publish();
  for (const auto& each : done) each();
}

// Whether everything up to `time` was read and said.
bool Recorder::arrived(TimeNs time) {
  return pipeline_.settled() >= time && (sampled_.all().empty() || pipeline_.horizon() >= time) &&
         first_looks_.known_until(os_.now()) >= time;
}

void Recorder::tell_problems() {
  for (const pipeline::Problem& problem : pipeline_.take_problems()) on_problem_(problem);
}

void Recorder::tell_limits() {
  for (const pipeline::AgentMessages::Limited& each : pipeline_.messages().take_limited()) {
    server_->tell_limit(each.connection, each.limit.key, each.limit.text, each.refused);
  }
}

void Recorder::sweep() {
  const TimeNs now = os_.now();
  next_sweep_ = now + kSweepInterval;
  if (stirred_ > looked_ || now - looked_ >= kSeldomSweepInterval) {
    looked_ = now;
    for (const ProcessSampling& each : sampled_.all()) cpu_.look(each.process, each.user_mode_only);
  }
  facts_.cpu_times(cpu_);
  drops_.tell();
  end_those_that_are_gone();
  opener_.give_up_unused(now);
  look_at_rules();
}

void Recorder::look_at_rules() {
  rules_.look(ending_);
  next_rules_ = os_.now() + kLookAgainAfter;
}

// Processes whose end nobody tells: they are not sampled, and their agents are gone.
void Recorder::end_those_that_are_gone() {
  std::vector<ProcessId> ended;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.connection != 0 || entry.ended != kTimeMax || sampled_.contains(entry.id())) return;
    auto now = os::identify(os_, entry.id().pid);
    if (!now.ok() || (entry.id().start != 0 && now->start != entry.id().start)) ended.push_back(entry.id());
  });
  for (ProcessId process : ended) {
    input_.on_process_ended(process);
    paused_.forget(process);
    sampled_.states().forget(process);
    rates_.forget(process);
  }
}

void Recorder::look_at_clocks() {
  clock_.tick(os_.now(), input_);
  facts_.clock(clock_.worst_source(), clock_.worst_error_ns());
  facts_.wall_clock(wall_clock_.look(facts_.info().start, facts_.info().wall_clock_ns));
}

}  // namespace tailor::session
