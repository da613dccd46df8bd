#include "daemon/session/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>
#include <utility>

#include "daemon/bpf/loaded_programs.h"
#include "daemon/capture/host/kernel_watch.h"
#include "daemon/capture/host/sample_cost.h"
#include "daemon/os/host_files.h"
#include "daemon/pipeline/checked_message.h"
#include "daemon/session/host_info.h"
#include "daemon/session/known_process.h"
#include "daemon/session/pace.h"
#include "daemon/session/pebs_probe.h"
#include "daemon/session/registered.h"

namespace tailor::session {
namespace {

constexpr TimeNs kSweepInterval = 5'000'000'000;
constexpr const char* kRequestIsOver = "it was sampled on request, which is over";
// What runtimes write of their code: well below PipelineOptions::delay.
constexpr TimeNs kForeignInterval = 100'000'000, kDumpInterval = 20'000'000;
// The reader closes events and hands over what their rings hold in its own time.
constexpr std::chrono::milliseconds kEndsAfter{20};
constexpr int kMostWaits = 100;
constexpr TimeNs kQuietAfter = 300'000'000;
// By then the store has written, and made safe, what those before have left (StoreOptions::sync_interval).
constexpr TimeNs kForgottenAfter = 15'000'000'000;
// Of processes that do nothing.
constexpr TimeNs kSeldomSweepInterval = 30'000'000'000;
// Where nothing changes. Whoever asks for the status of the daemon has it published before.
constexpr TimeNs kQuietPublishInterval = 1'000'000'000;
// For what runtimes write of their code: for those that say nothing new, and for all together.
constexpr std::chrono::milliseconds kForeignPace{5};
constexpr int kForeignPatience = 600;
constexpr int kMostForeignWaits = 6000;
constexpr int kFirstLookWaits = 200;
// For the BPF program.
constexpr std::chrono::milliseconds kReadyPace{2};
constexpr int kMostReadyWaits = 500;
constexpr TimeNs kLookAgainAfter = 10'000'000;
// For files that were hit last: one that never answers holds up the end no longer.
constexpr int kMostNameWaits = 400;

// At least one of a thousand, where any are asked for.
void set_untagged(std::uint32_t ppm, v1::Settings& to) {
  to.set_untagged_permille((ppm + 999) / 1000);
}

std::string how_to_register(ProcessId process, const std::string& comm, const std::string& socket) {
  return fmt::format(
      "process {} ({}) has not registered: its samples have no operators. An engine registers through "
      "libtailor_agent (tailor_agent_start, docs/integrate-your-engine.md) with TAILOR_SOCKET={} in its "
      "environment",
      process.pid, comm, socket);
}

std::vector<pipeline::Input*> listeners(pipeline::Input* journal, pipeline::Pipeline& pipeline) {
  if (journal == nullptr) return {&pipeline};
  return {journal, &pipeline};
}

registration::ServerOptions server_options(const RecorderOptions& options) {
  registration::ServerOptions where;
  where.socket_path = options.agent_socket;
  where.socket_mode = options.agent_socket_mode;
  where.inherited_listener = options.agent_listener;
  where.max_connections = options.max_processes;
  where.user_processes = options.user_processes;
  where.user_messages_a_second = options.user_messages_a_second;
  where.socket_group = options.agent_socket_group;
  return where;
}

}  // namespace

Recorder::Recorder(os::Os& os, RecorderOptions options, profile::ProfileSink& sink, OnProblem on_problem)
    : os_(os),
      options_(std::move(options)),
      on_problem_(std::move(on_problem)),
      queue_([this] { server_->wake(); }),
      requests_([this] { server_->wake(); }),
      pipeline_(sink, options_.pipeline),
      input_(listeners(options_.journal, pipeline_)),
      clock_(os),
      wall_clock_(os),
      cpu_(os, pipeline_),
      step_(os),
      facts_(input_),
      ids_(os, unwind::on_user_threads()),
      stacks_(os, options_.capture.all_registers, unwind::on_user_threads()),
      backlog_(os, queue_, options_.patience),
      code_(stacks_, opener_),
      literals_(options_.keep_literals),
      drops_(os, pipeline_, input_),
      foreign_(
          os, pipeline_, input_, {},
          [this](ProcessId process, const v1::CodeObject& code) { stacks_.foreign_code(process, code); }),
      first_looks_(os, unwind::on_user_threads()),
      pebs_trust_([&os] { return probe_pebs_times(os); }),
      overhead_({options_.max_overhead, options_.seed},
                [this](const capture::EventSpec& spec, const capture::CaptureOptions& how, int pairs) {
                  return capture::measure_sample_cost(os_, spec, how, pairs);
                }),
      reader_(
          os, queue_,
          [this](capture::RecordingNumber id, const capture::CaptureCounts& counts) {
            queue_.on_recording_ended({id, counts, os_.now()});
          },
          [this](os::Os& with, pid_t pid, const capture::CaptureOptions& how) {
            if (how.kernel_code) return capture::open_kernel_watch(with, how, bpf::loaded_programs);
            return opener_.open(with, pid, how);
          }),
      names_(os, pipeline_, input_, on_problem_, std::move(options_.name_functions), options_.namer),
      sampled_({os, pipeline_, input_, reader_, clock_, cpu_, facts_, on_problem_}, pebs_trust_, overhead_,
               foreign_, first_looks_),
      changes_({os, pipeline_, reader_, clock_, on_problem_}, sampled_, pebs_trust_, overhead_),
      rates_(os, facts_, on_problem_, sampled_, changes_, options_.capture),
      paused_(os, cpu_, facts_, sampled_, options_.capture),
      rules_(os, pipeline_, on_problem_, sampled_, paused_, options_.capture, options_.rules) {
  sampled_.set_is_ready([this](const capture::CaptureOptions& how) { return opener_.is_ready(os_, how); });
  sampled_.set_on_opened([this](const pipeline::KnownProcess& process) { names_.known(process); });
}

Result<std::unique_ptr<Recorder>> Recorder::start(os::Os& os, RecorderOptions options,
                                                  profile::ProfileSink& sink, OnProblem on_problem) {
  std::unique_ptr<Recorder> recorder(new Recorder(os, std::move(options), sink, std::move(on_problem)));
  recorder->clock_.start(recorder->input_);
  profile::RecordingInfo info = host_info(os);
  info.command = recorder->options_.command;
  if (auto cpus = os::online_cpus(os); cpus.ok()) info.cpus = static_cast<std::uint32_t>(cpus->size());
  info.start = os.now();
  info.clock_source = recorder->clock_.worst_source();
  info.clock_error_ns = recorder->clock_.worst_error_ns();
  info.drawn_ppm = recorder->options_.capture.drawn_ppm;
  recorder->facts_.begin(std::move(info));

  Status reading = recorder->reader_.start();
  if (!reading.ok()) return reading.error();
  recorder->watch_kernel();
  auto server = registration::Server::listen(server_options(recorder->options_), *recorder);
  if (!server.ok()) return server.error();
  recorder->server_ = std::move(*server);
  recorder->publish();
  recorder->thread_ = std::thread([raw = recorder.get()] { raw->control(); });
  return recorder;
}

// Without the right to it, code that the kernel loads has no name, which reports say where it matters.
void Recorder::watch_kernel() {
  if (options_.capture.exclude_kernel) return;
  (void)reader_.attach(capture::kAllProcesses, capture::kernel_watch_options());
}

Recorder::~Recorder() {
  stop();
}

Status Recorder::attach(const pipeline::KnownProcess& process, const capture::CaptureOptions& options) {
  Status result = Ok{};
  wait_until_ready(options);
  run([&] { result = sampled_.open(process, options, {}); });
  return result;
}

Result<Recorder::SampledProcess> Recorder::sample_process(ProcessId id,
                                                          const capture::CaptureOptions& options) {
  SampledProcess known;
  Status result = Ok{};
  wait_until_ready(options);
  run([&] {
    known.registered = is_registered(pipeline_, id);
    if (sampled_.contains(id)) return;
    if (const std::string why = why_not_now(id); !why.empty()) {
      result = unavailable(fmt::format("process {} is not sampled: {}", id.pid, why));
      return;
    }
    result = sampled_.open_running(id, options, {.on_request = true});
    if (!result.ok() || known.registered) return;
    known.note = how_to_register(id, comm_of(os_.proc(), id.pid), options_.agent_socket);
  });
  if (!result.ok()) return result.error();
  if (!known.note.empty()) known.note += "; " + foreign_source_of(id);
  return known;
}

// Without it, or after it, the control thread makes what is missing itself.
void Recorder::wait_until_ready(const capture::CaptureOptions& options) {
  for (int i = 0; i < kMostReadyWaits; ++i) {
    bool ready = false;
    run([&] { ready = sampled_.may_open(options); });
    if (ready) return;
    std::this_thread::sleep_for(kReadyPace);
  }
}

// As soon as its files were looked at, or cannot be.
std::string Recorder::foreign_source_of(ProcessId process) {
  std::string source;
  for (int i = 0; i < kFirstLookWaits; ++i) {
    bool pending = false;
    run([&] {
      pending = foreign_.is_pending(process);
      source = foreign_.source_of(process);
    });
    if (!pending) break;
    std::this_thread::sleep_for(kForeignPace);
  }
  return source;
}

void Recorder::detach(ProcessId process) {
  run([&] {
    if (is_registered(pipeline_, process)) return;
    ProcessSampling* sampled = sampled_.find(process);
    if (sampled != nullptr && sampled->origin.on_request)
      sampled_.leave(*sampled, SamplingEvent::kLeave, kRequestIsOver);
    if (!paused_.is_on_request(process)) return;
    sampled_.states().set_why_not(process, kRequestIsOver);
    paused_.forget(process);
  });
}

void Recorder::set_rules(ProcessRules rules) {
  run([&] {
    rules_.set(std::move(rules));
    look_at_rules();
  });
}

void Recorder::set_keep_literals(bool keep) {
  run([&] { literals_.set_keep(keep); });
}

void Recorder::set_untagged(std::uint32_t ppm) {
  run([&] {
    if (std::exchange(options_.untagged_ppm, ppm) == ppm) return;
    v1::DaemonMessage message;
    session::set_untagged(ppm, *message.mutable_settings());
    pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
      if (entry.connection != 0) server_->reply(entry.connection, message);
    });
  });
}

Result<std::vector<ProcessId>> Recorder::pause(std::optional<std::int32_t> pid) {
  std::optional<Result<std::vector<ProcessId>>> asked;
  run([&] { asked.emplace(paused_.pause(pid)); });
  if (!asked->ok()) return std::move(*asked);
  for (int i = 0; i < kMostWaits; ++i) {
    bool closing = false;
    run([&] { closing = paused_.is_closing(); });
    if (!closing) break;
    std::this_thread::sleep_for(kEndsAfter);
  }
  return std::move(*asked);
}

Result<Resumed> Recorder::resume(std::optional<std::int32_t> pid) {
  // What was sampled before the pause is attributed first: its CPU time is settled then, and what was used
  // during the pause is in no account.
  flush();
  std::optional<Result<Resumed>> resumed;
  run([&] {
    cpu_.settle();
    resumed.emplace(paused_.resume(pid, [this](ProcessId process) { return rules_.why_ignored(process); }));
  });
  return std::move(*resumed);
}

Result<RatesChanged> Recorder::set_rate(std::optional<std::int32_t> pid, Rate rate, TimeNs lasts) {
  std::optional<Result<RatesChanged>> changed;
  run([&] {
    if (lasts > 0) rate.until = os_.now() + lasts;
    changed.emplace(rates_.set(pid, std::move(rate)));
  });
  return std::move(*changed);
}

Result<RatesChanged> Recorder::reset_rate(std::optional<std::int32_t> pid) {
  std::optional<Result<RatesChanged>> changed;
  run([&] { changed.emplace(rates_.reset(pid)); });
  return std::move(*changed);
}

void Recorder::flush() {
  std::promise<void> done;
  requests_.post([this, &done] {
    flushes_.add(os_.now(), [&done] { done.set_value(); });
    reader_.hurry();
  });
  done.get_future().wait();
}

void Recorder::run(std::function<void()> work) {
  if (!thread_.joinable()) return work();
  requests_.run(std::move(work));
}

RecorderStatus Recorder::status() const {
  return status_.get();
}

void Recorder::note_cpu_time(const os::CpuTime& used) {
  run([&] { cpu_.note_command(used); });
}

void Recorder::stop() {
  if (!thread_.joinable()) return;
  run([this] {
    ending_ = true;
    look_at_foreign();  // what runtimes wrote at their end
  });
  hear_foreign();
  reader_.stop();  // the control thread still takes what it reads last
  flush();
  run([this] {
    flushed_ = true;
    look_at_foreign();
  });
  hear_foreign();
  hear_names();
  run([this] {
    foreign_.give_up();
    names_.tell_all();
    facts_.cpu_times(cpu_);
    publish();
  });
  requests_.end();
  thread_.join();
}

// Until what runtimes have written is said, as long as there is more of it.
void Recorder::hear_foreign() {
  std::uint64_t heard = 0;
  for (int all = 0, idle = 0; all < kMostForeignWaits && idle < kForeignPatience; ++all, ++idle) {
    bool pending = false;
    run([&] {
      pending = foreign_.is_pending();
      if (std::exchange(heard, foreign_.functions()) != foreign_.functions()) idle = 0;
    });
    if (!pending) return;
    std::this_thread::sleep_for(kForeignPace);
  }
}

// Until the files that were hit last are read.
void Recorder::hear_names() {
  for (int waits = 0; waits < kMostNameWaits; ++waits) {
    bool pending = false;
    run([&] { pending = names_.name_what_was_hit(true); });
    if (!pending) return;
    std::this_thread::sleep_for(kForeignPace);
  }
}

void Recorder::on_connected(const registration::PeerConnected& event) {
  stirred_ = listened_;
  literals_.connected(event);
  input_.on_connected(event);
  code_.connected(event);
  v1::DaemonMessage answer;
  std::string denied = options_.sample_registered ? sample_registered(event.process) : std::string();
  tell_unread_slots(event);
  answer.mutable_hello_ack()->set_daemon_version(kVersion);
  answer.mutable_hello_ack()->set_sampling(denied.empty());
  answer.mutable_hello_ack()->set_reason(denied);
  if (options_.untagged_ppm > 0)
    session::set_untagged(options_.untagged_ppm, *answer.mutable_hello_ack()->mutable_settings());
  server_->reply(event.connection, answer);
}

// What its samples need is there, or will not be needed.
bool Recorder::may_begin(ProcessId process) {
  return !options_.sample_registered || ending_ || sampled_.contains(process) ||
         sampled_.may_open(options_.capture);
}

// All that takes long with a large message, on the thread that reads it.
registration::Prepare Recorder::preparation(ProcessId process) {
  return
      [redact = literals_.redaction(process), limits = options_.pipeline.limits](v1::AgentMessage& message) {
        if (redact) redact(message);
        return pipeline::check_message(message, limits);
      };
}

void Recorder::on_message(registration::PeerMessage event) {
  stirred_ = listened_;
  literals_.message(event);
  input_.on_message(event);
  if (pipeline_.took_message()) code_.message(event);
  if (!event.said().has_barrier()) return;
  v1::DaemonMessage answer;
  answer.mutable_barrier_ack()->set_sequence(event.said().barrier().sequence());
  server_->reply(event.connection, answer);
}

void Recorder::on_gone(const registration::PeerGone& event) {
  stirred_ = listened_;
  input_.advance(os_.now());  // what the process did is over by then
  drops_.gone(event.process);
  input_.on_gone(event);
  code_.gone(event);
  literals_.gone(event.process);
  // It stays in the status until the next sweep has looked for it.
  if (event.reason == registration::GoneReason::kProcessExit)
    sampled_.states().set_why_not(event.process, "it has ended");
}

void Recorder::on_refused(const registration::PeerRefused& event) {
  on_problem_({{event.pid, 0}, fmt::format("of user {}, was turned away: {}", event.uid, event.reason)});
}

void Recorder::control() {
  listened_ = stirred_ = os_.now();
  while (true) {
    const bool last = requests_.ending();
    wait_and_listen(last);
    look_at_clocks();
    if (os_.now() >= next_foreign_) look_at_foreign();
    backlog_.take(last,
                  [this](CaptureMessage& each, unwind::Patience* patience) { return take(each, patience); });
    changes_.watch_pebs();
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
    sampled_.take_looks();
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
    if (last) return;
  }
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
  int wait_ms = last || backlog_.is_behind() ? 0 : round_ms(facts);
  if (wait_ms > kRoundMs && !queue_.set_asleep(true)) wait_ms = 0;  // there is something to take
  step_.end();
  server_->poll(wait_ms);
  (void)queue_.set_asleep(false);
}

// Whoever is registered is sampled, so that the reader sees it when one of them begins to work.
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

// Its events are closed, and everything they took was handed over.
void Recorder::recording_ended(const RecordingEnded& ended) {
  const auto over = sampled_.ended(ended);
  if (!over) return;
  const ProcessSampling& before = over->sampling;
  if (over->state == SamplingState::kPausing) {
    if (!ending_) paused_.closed(before, ended.time);
    return;
  }
  if (over->state == SamplingState::kReopening && !ending_ && changes_.reopen(before)) return;
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

// "" if the process is sampled, else why not.
std::string Recorder::sample_registered(ProcessId process) {
  if (sampled_.contains(process)) return {};
  if (std::string why = why_not_now(process); !why.empty()) return why;
  Status opened = sampled_.open_running(process, options_.capture, {});
  if (opened.ok()) return {};
  sampled_.states().set_why_not(process, opened.error().message);
  on_problem_({process, opened.error().message});
  return opened.error().message;
}

// "" if it may be sampled.
std::string Recorder::why_not_now(ProcessId process) {
  std::string why = rules_.why_ignored(process);
  return why.empty() ? paused_.pause_if_all_are(process) : why;
}

void Recorder::tell_unread_slots(const registration::PeerConnected& event) {
  if (event.hello.tag_strategy() != v1::TAGS_MEMORY_SLOT) return;
  const ProcessSampling* sampled = sampled_.find(event.process);
  // A child of one that is sampled with its children.
  if (sampled == nullptr) sampled = sampled_.first_with_children();
  if (sampled == nullptr) return;
  if (sampled->reads_slots && event.hello.tag_slot_offset() != 0) return;
  const char* why = sampled->reads_slots ? "its agent does not say where" : "only a BPF program reads them";
  on_problem_(
      {event.process,
       fmt::format("it keeps tags in memory slots, and {}: shared code has no tag, and is told by call "
                   "stacks where they are sampled (docs/tags.md)",
                   why)});
}

}  // namespace tailor::session
