#include "daemon/session/recorder.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <utility>

#include "daemon/capture/host/sample_cost.h"
#include "daemon/os/host_files.h"
#include "daemon/registration/arena_view.h"
#include "daemon/session/host_info.h"
#include "daemon/session/pebs_probe.h"

namespace tailor::session {
namespace {

constexpr int kPollMs = 20;
constexpr TimeNs kFlushPatience = 2'000'000'000;
constexpr TimeNs kSweepInterval = 5'000'000'000;
constexpr const char* kRequestIsOver = "it was sampled on request, which is over";
constexpr TimeNs kWallLookInterval = 1'000'000'000;
// Clocks of other rates drift apart by this in minutes; who sets a clock sets it by more.
constexpr std::int64_t kWallSlack = 10'000'000;

std::string how_to_register(const pipeline::KnownProcess& process, const std::string& socket) {
  return fmt::format(
      "process {} ({}) has not registered: its samples have no operators. An engine registers through "
      "libtailor_agent (tailor_agent_start, docs/integrate-your-engine.md) with TAILOR_SOCKET={} in its "
      "environment",
      process.process.pid, process.comm, socket);
}

std::uint64_t own_cpu_ns() {
  timespec ts{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
  return static_cast<std::uint64_t>(ts.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(ts.tv_nsec);
}

std::vector<pipeline::Input*> listeners(pipeline::Input* journal, pipeline::Pipeline& pipeline) {
  if (journal == nullptr) return {&pipeline};
  return {journal, &pipeline};
}

}  // namespace

Recorder::Recorder(os::Os& os, RecorderOptions options, profile::ProfileSink& sink, OnProblem on_problem)
    : os_(os),
      options_(std::move(options)),
      on_problem_(std::move(on_problem)),
      pipeline_(sink, options_.pipeline),
      input_(listeners(options_.journal, pipeline_)),
      clock_(os),
      pebs_trust_([&os] { return probe_pebs_times(os); }),
      overhead_({options_.max_overhead, options_.seed},
                [this](const capture::EventSpec& spec, const capture::CaptureOptions& how, int pairs) {
                  return capture::measure_sample_cost(os_, spec, how, pairs);
                }),
      cpu_before_(own_cpu_ns()),
      stacks_(os, options_.capture.all_registers) {}

Result<std::unique_ptr<Recorder>> Recorder::start(os::Os& os, RecorderOptions options,
                                                  profile::ProfileSink& sink, OnProblem on_problem) {
  std::unique_ptr<Recorder> session(new Recorder(os, std::move(options), sink, std::move(on_problem)));
  session->clock_.start(session->input_);
  session->recording_ = host_info(os);
  session->recording_.command = session->options_.command;
  session->steal_before_ = os::steal_time(os);
  if (auto cpus = os::online_cpus(os); cpus.ok()) {
    session->recording_.cpus = static_cast<std::uint32_t>(cpus->size());
  }
  session->recording_.start = os.now();
  session->recording_.clock_source = session->clock_.worst_source();
  session->recording_.clock_error_ns = session->clock_.worst_error_ns();
  session->input_.on_recording(session->recording_);

  CaptureQueue& queue = session->queue_;
  session->reader_ = std::make_unique<capture::CaptureReader>(
      os, queue,
      [&queue, &os](capture::RecordingNumber id, const capture::CaptureCounts& counts) {
        queue.on_session_ended({id, counts, os.now()});
      },
      [raw = session.get()](os::Os& with, pid_t pid, const capture::CaptureOptions& how) {
        return raw->opener_.open(with, pid, how);
      });
  Status reading = session->reader_->start();
  if (!reading.ok()) return reading.error();
  registration::ServerOptions where;
  where.socket_path = session->options_.agent_socket;
  where.socket_mode = session->options_.agent_socket_mode;
  where.inherited_listener = session->options_.agent_listener;
  where.user_processes = session->options_.user_processes;
  where.user_messages_a_second = session->options_.user_messages_a_second;
  where.socket_group = session->options_.agent_socket_group;
  auto server = registration::Server::Listen(std::move(where), *session);
  if (!server.ok()) return server.error();
  session->server_ = std::move(*server);
  session->thread_ = std::thread([raw = session.get()] { raw->control(); });
  return session;
}

Recorder::~Recorder() {
  stop();
}

Status Recorder::attach(const pipeline::KnownProcess& process, const capture::CaptureOptions& options) {
  Status result = Ok{};
  run([&] { result = sample(process, options); });
  return result;
}

Result<Recorder::SampledProcess> Recorder::sample_process(const pipeline::KnownProcess& process,
                                                          const capture::CaptureOptions& options) {
  SampledProcess known;
  Status result = Ok{};
  run([&] {
    known.registered = is_registered(process.process);
    if (is_sampled(process.process)) return;
    std::string why = ignore_if_told(process.process);
    if (why.empty()) why = pause_if_all_are(process.process);
    if (!why.empty()) {
      result = Error{fmt::format("process {} is not sampled: {}", process.process.pid, why)};
      return;
    }
    result = sample(known_process(os_, process.process), options);
    if (!result.ok()) return;
    sampled_.back().on_request = true;
    if (known.registered) return;
    const ForeignProcess& foreign = foreign_.at(process.process);
    known.note = how_to_register(process, options_.agent_socket) + "; " + foreign.source();
  });
  if (!result.ok()) return result.error();
  return known;
}

void Recorder::detach(ProcessId process) {
  run([&] {
    for (Sampled& each : sampled_) {
      if (each.process != process || !each.on_request || is_registered(process)) continue;
      each.detached = true;
      not_sampled_[process] = kRequestIsOver;
      reader_->remove(each.session);
    }
    const auto paused = paused_.find(process);
    if (paused == paused_.end() || !paused->second.on_request || is_registered(process)) return;
    not_sampled_[process] = kRequestIsOver;
    forget_pause(process);
  });
}

void Recorder::flush() {
  std::promise<void> done;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back([this, &done] {
      const TimeNs now = os_.now();
      flushes_.push_back({now, now + kFlushPatience, [&done] { done.set_value(); }});
      reader_->hurry();
    });
  }
  done.get_future().wait();
}

void Recorder::run(std::function<void()> work) {
  if (!thread_.joinable()) return work();
  std::promise<void> done;
  {
    std::lock_guard lock(mutex_);
    requests_.push_back([&] {
      work();
      done.set_value();
    });
  }
  done.get_future().wait();
}

RecorderStatus Recorder::status() {
  RecorderStatus status;
  run([&] {
    status.pipeline = pipeline_.stats();
    status.total = pipeline_.total();
    status.stacks = stacks_.counts().stacks;
    status.capture_row = recording_.capture_row;
    status.own_cpu_ns = own_cpu_ns() - cpu_before_;
    status.recording = recording_;
    status.registration = server_->counters();
    status.limits = pipeline_.words().refused_by_limit();
    if (status.registration.paused > 0)
      status.limits["user-messages-per-second"] = status.registration.paused;
    status.all_paused = pauses_.all();
    status.clock_source = clock::name(clock_.model().source());
    status.clock_error_ns = clock_.model().error_bound_ns();
    pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
      if (entry.ended != kTimeMax) return;
      RecordedProcess process{entry.record, entry.accounting, false, {}};
      process.sampled = is_sampled(entry.id());
      process.paused_ns = pauses_.ns_of(entry.id(), os_.now());
      if (pauses_.is_paused(entry.id()))
        process.paused_since_ns = recording_.wall_of(pauses_.since(entry.id()));
      const auto why = not_sampled_.find(entry.id());
      if (why != not_sampled_.end()) process.not_sampled_because = why->second;
      status.processes.push_back(std::move(process));
    });
  });
  return status;
}

void Recorder::note_cpu_time(const os::CpuTime& used) {
  run([&] { command_used_ = used; });
}

void Recorder::stop() {
  if (!thread_.joinable()) return;
  run([this] {
    ending_ = true;
    speak_for_foreign();  // what runtimes wrote at their end
  });
  reader_->stop();  // the control thread still takes what it reads last
  flush();
  run([this] {
    flushed_ = true;
    speak_for_foreign();
    tell_cpu_times();
  });
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
}

void Recorder::OnConnected(const registration::PeerConnected& event) {
  double_quotes_[event.process] = redact::double_quotes_of(event.hello.engine_name());
  input_.on_connected(event);
  stacks_.connected(event);
  opener_.tags(event.process.pid, unwind::tag_word(event.hello));
  v1::DaemonMessage answer;
  std::string denied = options_.sample_registered ? sample_registered(event) : std::string();
  tell_unread_slots(event);
  answer.mutable_hello_ack()->set_daemon_version(kVersion);
  answer.mutable_hello_ack()->set_sampling(denied.empty());
  answer.mutable_hello_ack()->set_reason(denied);
  server_->Reply(event.connection, answer);
}

void Recorder::OnMessage(registration::PeerMessage event) {
  if (!options_.keep_literals) redactor_.redact(event.message, double_quotes_[event.process]);
  input_.on_message(event);
  if (pipeline_.took_message()) {
    stacks_.message(event);
    tell_opener(event);
  }
  if (!event.message.has_barrier()) return;
  v1::DaemonMessage answer;
  answer.mutable_barrier_ack()->set_sequence(event.message.barrier().sequence());
  server_->Reply(event.connection, answer);
}

// The ranges of generated code, for samples that need no stack.
void Recorder::tell_opener(const registration::PeerMessage& event) {
  if (event.message.has_code_load()) {
    const v1::CodeObject& code = event.message.code_load();
    const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
    if (code.plan_id() != 0) opener_.add_code(event.process.pid, code.id(), code.base(), size);
  }
  if (event.message.has_code_unload()) {
    opener_.remove_code(event.process.pid, event.message.code_unload().code_id());
  }
}

void Recorder::OnArena(const registration::ArenaMapped& event) {
  if (event.index == 0) arenas_[event.process] = event.arena;
}

void Recorder::OnGone(const registration::PeerGone& event) {
  input_.advance(os_.now());  // what the process did is over by then
  tell_dropped(event.process);
  input_.on_gone(event);
  stacks_.gone(event);
  opener_.gone(event.process.pid);
  arenas_.erase(event.process);
  double_quotes_.erase(event.process);
  not_sampled_.erase(event.process);
}

void Recorder::OnRefused(const registration::PeerRefused& event) {
  on_problem_({{event.pid, 0}, fmt::format("of user {}, was turned away: {}", event.uid, event.reason)});
}

void Recorder::tell_limits() {
  for (const pipeline::AgentMessages::Limited& each : pipeline_.words().take_limited()) {
    server_->TellLimit(each.connection, each.limit.key, each.limit.text, each.refused);
  }
}

void Recorder::control() {
  while (true) {
    bool last;
    {
      std::lock_guard lock(mutex_);
      last = stopping_;
    }
    server_->Poll(last ? 0 : kPollMs);
    clock_.tick(os_.now(), input_);
    tell_clock();
    tell_wall_clock();
    speak_for_foreign();
    take_captured();
    watch_pebs();
    if (!last && !ending_) {
      watch_births();
      redraw_periods();
    }
    input_.advance(os_.now());
    do_requests();
    finish_flushes();
    tell_problems();
    tell_limits();
    settle_cpu_coverage();
    if (os_.now() >= next_sweep_) sweep();
    if (overhead_.enabled() && !last) govern();
    if (last) return;
  }
}

void Recorder::take_captured() {
  for (CaptureMessage& word : queue_.take()) take(word);
}

void Recorder::take(CaptureMessage& word) {
  if (const auto* layout = std::get_if<capture::RingLayout>(&word)) {
    input_.on_ring(stacks_.layout(*layout));
  } else if (auto* chunk = std::get_if<capture::RingChunk>(&word)) {
    input_.on_chunk(stacks_.chunk(std::move(*chunk)));
  } else if (const auto* round = std::get_if<RoundRead>(&word)) {
    input_.on_round(round->horizon);
  } else if (const auto* closed = std::get_if<RingClosed>(&word)) {
    stacks_.closed(closed->ring);
    input_.on_ring_closed(closed->ring);
  } else if (const auto* ended = std::get_if<RecordingEnded>(&word)) {
    session_ended(*ended);
  }
}

void Recorder::do_requests() {
  std::vector<std::function<void()>> requests;
  {
    std::lock_guard lock(mutex_);
    requests.swap(requests_);
  }
  for (auto& request : requests) request();
}

void Recorder::finish_flushes() {
  const TimeNs now = os_.now();
  std::erase_if(flushes_, [&](Flush& flush) {
    if (!arrived(flush.until) && now < flush.deadline) return false;
    input_.flush(flush.until);
    flush.done();
    return true;
  });
}

// Whether everything up to `time` was read and said.
bool Recorder::arrived(TimeNs time) {
  return pipeline_.settled() >= time && (sampled_.empty() || pipeline_.horizon() >= time);
}

void Recorder::tell_problems() {
  for (const pipeline::Problem& problem : pipeline_.take_problems()) on_problem_(problem);
}

// The counter lies in the agent's memory: a claim, shown as such.
void Recorder::tell_dropped(ProcessId process) {
  const auto arena = arenas_.find(process);
  if (arena == arenas_.end()) return;
  constexpr std::uint64_t kNsAMessage = 100;  // at least, since the host was started
  const std::uint64_t dropped = arena->second->MessagesDropped();
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  if (entry == nullptr || entry->accounting.agent_dropped == dropped) return;
  if (dropped > static_cast<std::uint64_t>(os_.now()) / kNsAMessage) return;
  input_.on_agent_dropped(process, dropped);
}

// Says what is known of processes without an agent, up to now.
void Recorder::speak_for_foreign() {
  adopt_foreign();
  std::erase_if(foreign_, [this](const auto& each) { return is_registered(each.first); });
  if (foreign_.empty()) return;
  const ForeignMoment moment = ForeignMoment::now(pipeline_.timeline());
  for (auto each = foreign_.begin(); each != foreign_.end();) {
    if (!ending_ && !is_over(each->first)) {
      (each++)->second.tell(input_, moment);
      continue;
    }
    const pipeline::ProcessEntry* entry = pipeline_.processes().find(each->first);
    each->second.tell_last(input_, moment, entry == nullptr ? std::string() : entry->jitdump);
    // What it mapped is known for certain when everything was read.
    if (ending_ && !flushed_ && each->second.functions() == 0) {
      ++each;
      continue;
    }
    spoken_for_.insert(each->first);
    each = foreign_.erase(each);
  }
}

// Children of a process that is sampled with them.
void Recorder::adopt_foreign() {
  constexpr std::size_t kMost = 1024;
  const auto follows = [](const Sampled& each) { return each.options.follow_children; };
  if (std::ranges::none_of(sampled_, follows)) return;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    const ProcessId id = entry.id();
    if (entry.ended != kTimeMax || entry.record.first_seen == 0 || entry.connection != 0) return;
    if (foreign_.contains(id) || spoken_for_.contains(id) || spoken_for_.size() + foreign_.size() >= kMost)
      return;
    if (entry.record.registered == kTimeMin) foreign_.emplace(id, ForeignProcess(os_, id));
  });
}

// A process that was waited for has no directory any more, a zombie no memory.
bool Recorder::is_over(ProcessId process) {
  if (is_sampled(process) || paused_.contains(process)) return false;
  const auto follows = [](const Sampled& each) { return each.options.follow_children; };
  if (std::ranges::none_of(sampled_, follows)) return true;
  std::error_code gone;
  const auto directory = os_.proc() / std::to_string(process.pid);
  return !std::filesystem::exists(directory / "exe", gone) || gone;
}

// Processes whose end nobody tells: they are not sampled, and their agents are gone.
void Recorder::sweep() {
  next_sweep_ = os_.now() + kSweepInterval;
  for (const Sampled& sampled : sampled_) look_at_cpu_time(sampled);
  tell_cpu_times();
  for (const auto& [process, arena] : arenas_) tell_dropped(process);
  std::vector<ProcessId> ended;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.connection != 0 || entry.ended != kTimeMax || is_sampled(entry.id())) return;
    auto now = os::identify(os_, entry.id().pid);
    if (!now.ok() || (entry.id().start != 0 && now->start != entry.id().start)) ended.push_back(entry.id());
  });
  for (ProcessId process : ended) {
    input_.on_process_ended(process);
    not_sampled_.erase(process);
    forget_pause(process);
    ignored_.erase(process);
    refused_by_rules_.erase(process);
  }
  std::erase_if(names_from_, [this](const auto& each) {
    return !is_sampled(each.first) && !paused_.contains(each.first);
  });
  settle_ignored();
  follow_rules();
}

void Recorder::tell_cpu_times() {
  settle_cpu_coverage();
  CpuCoverage coverage = coverage_.sum();
  if (command_used_) {
    coverage = used_of(*command_used_, user_mode_only_);
    coverage.sampled = pipeline_.total().on_cpu_ns;
  }
  recording_.kernel_not_sampled = user_mode_only_;
  recording_.kernel_unsampled_ns = coverage.unsampled;
  const bool timed = std::ranges::any_of(recording_.sources, [](const profile::Source& source) {
    return source.unit == profile::Unit::kNsOnCpu;
  });
  if (!timed) coverage = {};
  recording_.cpu_used_ns = coverage.used;
  recording_.cpu_sampled_ns = coverage.sampled;
  if (const auto now = os::steal_time(os_); now && steal_before_) recording_.steal_ns = *now - *steal_before_;
  recording_.own_cpu_ns = own_cpu_ns() - cpu_before_;
  input_.on_recording(recording_);
}

void Recorder::tell_clock() {
  if (clock_.worst_source() == recording_.clock_source &&
      clock_.worst_error_ns() <= recording_.clock_error_ns)
    return;
  recording_.clock_source = clock_.worst_source();
  recording_.clock_error_ns = clock_.worst_error_ns();
  input_.on_recording(recording_);
}

// Somebody may set the clock of the day, and it drifts. What is heard of from then on has the new time.
void Recorder::tell_wall_clock() {
  const TimeNs before = os_.now();
  if (before < next_wall_look_) return;
  next_wall_look_ = before + kWallLookInterval;
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  const TimeNs after = os_.now();
  if (after - before > kWallSlack) return;  // interrupted: the next look is better
  const std::int64_t at_start = static_cast<std::int64_t>(wall.tv_sec) * 1'000'000'000 + wall.tv_nsec -
                                (before + (after - before) / 2 - recording_.start);
  const auto known = static_cast<std::int64_t>(recording_.wall_clock_ns);
  if (at_start <= 0 || std::abs(at_start - known) <= kWallSlack) return;
  recording_.wall_clock_ns = static_cast<std::uint64_t>(at_start);
  input_.on_recording(recording_);
}

// `process`: the one that is sampled from now on, or with other periods.
void Recorder::tell_recording(ProcessId process) {
  std::string row;
  std::vector<std::string> notes = notes_;
  if (std::string overhead = overhead_.words(process); !overhead.empty())
    notes.push_back(std::move(overhead));
  for (const std::string& note : notes) row += (row.empty() ? "" : "; ") + note;
  if (std::exchange(recording_.capture_row, row) == row && told_sources_ == recording_.sources.size()) return;
  told_sources_ = recording_.sources.size();
  input_.on_recording(recording_);
}

}  // namespace tailor::session
