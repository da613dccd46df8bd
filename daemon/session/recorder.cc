#include "daemon/session/recorder.h"

#include <fmt/format.h>

#include <algorithm>
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
constexpr TimeNs kPublishInterval = 100'000'000;  // a status has strings of all processes

std::string how_to_register(const pipeline::KnownProcess& process, const std::string& socket) {
  return fmt::format(
      "process {} ({}) has not registered: its samples have no operators. An engine registers through "
      "libtailor_agent (tailor_agent_start, docs/integrate-your-engine.md) with TAILOR_SOCKET={} in its "
      "environment",
      process.process.pid, process.comm, socket);
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
      wall_clock_(os),
      cpu_(os, pipeline_),
      pebs_trust_([&os] { return probe_pebs_times(os); }),
      overhead_({options_.max_overhead, options_.seed},
                [this](const capture::EventSpec& spec, const capture::CaptureOptions& how, int pairs) {
                  return capture::measure_sample_cost(os_, spec, how, pairs);
                }),
      stacks_(os, options_.capture.all_registers),
      code_(stacks_, opener_),
      foreign_(os, pipeline_, input_) {}

Result<std::unique_ptr<Recorder>> Recorder::start(os::Os& os, RecorderOptions options,
                                                  profile::ProfileSink& sink, OnProblem on_problem) {
  std::unique_ptr<Recorder> recorder(new Recorder(os, std::move(options), sink, std::move(on_problem)));
  recorder->clock_.start(recorder->input_);
  recorder->recording_ = host_info(os);
  recorder->recording_.command = recorder->options_.command;
  if (auto cpus = os::online_cpus(os); cpus.ok()) {
    recorder->recording_.cpus = static_cast<std::uint32_t>(cpus->size());
  }
  recorder->recording_.start = os.now();
  recorder->recording_.clock_source = recorder->clock_.worst_source();
  recorder->recording_.clock_error_ns = recorder->clock_.worst_error_ns();
  recorder->input_.on_recording(recorder->recording_);

  CaptureQueue& queue = recorder->queue_;
  recorder->reader_ = std::make_unique<capture::CaptureReader>(
      os, queue,
      [&queue, &os](capture::RecordingNumber id, const capture::CaptureCounts& counts) {
        queue.on_recording_ended({id, counts, os.now()});
      },
      [raw = recorder.get()](os::Os& with, pid_t pid, const capture::CaptureOptions& how) {
        return raw->opener_.open(with, pid, how);
      });
  Status reading = recorder->reader_->start();
  if (!reading.ok()) return reading.error();
  registration::ServerOptions where;
  where.socket_path = recorder->options_.agent_socket;
  where.socket_mode = recorder->options_.agent_socket_mode;
  where.inherited_listener = recorder->options_.agent_listener;
  where.max_connections = recorder->options_.max_processes;
  where.user_processes = recorder->options_.user_processes;
  where.user_messages_a_second = recorder->options_.user_messages_a_second;
  where.socket_group = recorder->options_.agent_socket_group;
  auto server = registration::Server::listen(std::move(where), *recorder);
  if (!server.ok()) return server.error();
  recorder->server_ = std::move(*server);
  recorder->publish();
  recorder->thread_ = std::thread([raw = recorder.get()] { raw->control(); });
  return recorder;
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
      result = unavailable(fmt::format("process {} is not sampled: {}", process.process.pid, why));
      return;
    }
    result = sample(known_process(os_, process.process), options);
    if (!result.ok()) return;
    sampled_.back().on_request = true;
    if (known.registered) return;
    known.note = how_to_register(process, options_.agent_socket) + "; " + foreign_.source_of(process.process);
  });
  if (!result.ok()) return result.error();
  return known;
}

void Recorder::detach(ProcessId process) {
  run([&] {
    for (ProcessSampling& each : sampled_) {
      if (each.process == process && each.on_request && !is_registered(process)) leave(each, kRequestIsOver);
    }
    const auto paused = paused_.find(process);
    if (paused == paused_.end() || !paused->second.on_request || is_registered(process)) return;
    not_sampled_[process] = kRequestIsOver;
    forget_pause(process);
  });
}

void Recorder::flush() {
  std::promise<void> done;
  requests_.post([this, &done] {
    const TimeNs now = os_.now();
    flushes_.push_back({now, now + kFlushPatience, [&done] { done.set_value(); }});
    reader_->hurry();
  });
  done.get_future().wait();
}

void Recorder::run(std::function<void()> work) {
  if (!thread_.joinable()) return work();
  requests_.run(std::move(work));
}

RecorderStatus Recorder::status() const {
  std::lock_guard lock(status_mutex_);
  return *status_;
}

// What others may know of this thread's state.
void Recorder::publish() {
  auto status = std::make_shared<RecorderStatus>();
  status->pipeline = pipeline_.stats();
  status->total = pipeline_.total();
  status->stacks = stacks_.counts().stacks;
  status->capture_row = recording_.capture_row;
  status->own_cpu_ns = cpu_.own_ns();
  status->recording = recording_;
  status->registration = server_->counters();
  status->limits = pipeline_.messages().refused_by_limit();
  if (status->registration.paused > 0)
    status->limits["user-messages-per-second"] = status->registration.paused;
  status->all_paused = pauses_.all();
  status->clock_source = clock::name(clock_.model().source());
  status->clock_error_ns = clock_.model().error_bound_ns();
  const TimeNs now = os_.now();
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended != kTimeMax) return;
    RecordedProcess process{entry.record, entry.accounting, false, {}};
    process.sampled = is_sampled(entry.id());
    process.paused_ns = pauses_.ns_of(entry.id(), now);
    if (pauses_.is_paused(entry.id()))
      process.paused_since_ns = recording_.wall_of(pauses_.since(entry.id()));
    const auto why = not_sampled_.find(entry.id());
    if (why != not_sampled_.end()) process.not_sampled_because = why->second;
    status->processes.push_back(std::move(process));
  });
  next_publish_ = now + kPublishInterval;
  std::lock_guard lock(status_mutex_);
  status_ = std::move(status);
}

void Recorder::note_cpu_time(const os::CpuTime& used) {
  run([&] { cpu_.note_command(used); });
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
  requests_.end();
  thread_.join();
}

void Recorder::on_connected(const registration::PeerConnected& event) {
  double_quotes_[event.process] = redact::double_quotes_of(event.hello.engine_name());
  input_.on_connected(event);
  code_.connected(event);
  v1::DaemonMessage answer;
  std::string denied = options_.sample_registered ? sample_registered(event) : std::string();
  tell_unread_slots(event);
  answer.mutable_hello_ack()->set_daemon_version(kVersion);
  answer.mutable_hello_ack()->set_sampling(denied.empty());
  answer.mutable_hello_ack()->set_reason(denied);
  server_->reply(event.connection, answer);
}

void Recorder::on_message(registration::PeerMessage event) {
  if (!options_.keep_literals) redactor_.redact(event.message, double_quotes_[event.process]);
  input_.on_message(event);
  if (pipeline_.took_message()) code_.message(event);
  if (!event.message.has_barrier()) return;
  v1::DaemonMessage answer;
  answer.mutable_barrier_ack()->set_sequence(event.message.barrier().sequence());
  server_->reply(event.connection, answer);
}

void Recorder::on_arena(const registration::ArenaMapped& event) {
  if (event.index == 0) arenas_[event.process] = event.arena;
}

void Recorder::on_gone(const registration::PeerGone& event) {
  input_.advance(os_.now());  // what the process did is over by then
  tell_dropped(event.process);
  input_.on_gone(event);
  code_.gone(event);
  arenas_.erase(event.process);
  double_quotes_.erase(event.process);
  not_sampled_.erase(event.process);
}

void Recorder::on_refused(const registration::PeerRefused& event) {
  on_problem_({{event.pid, 0}, fmt::format("of user {}, was turned away: {}", event.uid, event.reason)});
}

void Recorder::tell_limits() {
  for (const pipeline::AgentMessages::Limited& each : pipeline_.messages().take_limited()) {
    server_->tell_limit(each.connection, each.limit.key, each.limit.text, each.refused);
  }
}

void Recorder::control() {
  while (true) {
    const bool last = requests_.ending();
    server_->poll(last ? 0 : kPollMs);
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
    requests_.do_all([this] { publish(); });
    finish_flushes();
    tell_problems();
    tell_limits();
    cpu_.settle();
    if (os_.now() >= next_sweep_) sweep();
    if (overhead_.enabled() && !last) govern();
    if (last || os_.now() >= next_publish_) publish();
    if (last) return;
  }
}

void Recorder::take_captured() {
  for (CaptureMessage& message : queue_.take()) take(message);
}

void Recorder::take(CaptureMessage& message) {
  if (const auto* layout = std::get_if<capture::RingLayout>(&message)) {
    input_.on_ring(stacks_.layout(*layout));
  } else if (auto* chunk = std::get_if<capture::RingChunk>(&message)) {
    input_.on_chunk(stacks_.chunk(std::move(*chunk)));
  } else if (const auto* round = std::get_if<RoundRead>(&message)) {
    input_.on_round(round->horizon);
  } else if (const auto* closed = std::get_if<RingClosed>(&message)) {
    stacks_.closed(closed->ring);
    input_.on_ring_closed(closed->ring);
  } else if (const auto* ended = std::get_if<RecordingEnded>(&message)) {
    recording_ended(*ended);
  }
}

void Recorder::finish_flushes() {
  const TimeNs now = os_.now();
  std::vector<std::function<void()>> done;
  std::erase_if(flushes_, [&](Flush& flush) {
    if (!arrived(flush.until) && now < flush.deadline) return false;
    input_.flush(flush.until);
    done.push_back(std::move(flush.done));
    return true;
  });
  if (done.empty()) return;
  publish();
  for (const auto& each : done) each();
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
  const std::uint64_t dropped = arena->second->messages_dropped();
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  if (entry == nullptr || entry->accounting.agent_dropped == dropped) return;
  if (dropped > static_cast<std::uint64_t>(os_.now()) / kNsAMessage) return;
  input_.on_agent_dropped(process, dropped);
}

void Recorder::speak_for_foreign() {
  foreign_.tell(
      {.follows_children = follows_children(),
       .ending = ending_,
       .all_read = flushed_,
       .is_sampled = [this](ProcessId process) { return is_sampled(process) || paused_.contains(process); }});
}

bool Recorder::follows_children() const {
  return std::ranges::any_of(sampled_,
                             [](const ProcessSampling& each) { return each.options.follow_children; });
}

// Processes whose end nobody tells: they are not sampled, and their agents are gone.
void Recorder::sweep() {
  next_sweep_ = os_.now() + kSweepInterval;
  for (const ProcessSampling& each : sampled_) cpu_.look(each.process, each.user_mode_only);
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
  cpu_.tell(recording_);
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

// What is heard of from then on has the new time.
void Recorder::tell_wall_clock() {
  const auto wall = wall_clock_.look(recording_.start, recording_.wall_clock_ns);
  if (!wall) return;
  recording_.wall_clock_ns = *wall;
  input_.on_recording(recording_);
}

// `process`: the one that is sampled from now on, or with other periods.
void Recorder::tell_recording(ProcessId process) {
  std::string row;
  std::vector<std::string> notes = notes_;
  if (std::string overhead = overhead_.text(process); !overhead.empty()) notes.push_back(std::move(overhead));
  for (const std::string& note : notes) row += (row.empty() ? "" : "; ") + note;
  if (std::exchange(recording_.capture_row, row) == row && told_sources_ == recording_.sources.size()) return;
  told_sources_ = recording_.sources.size();
  input_.on_recording(recording_);
}

}  // namespace tailor::session
