#include "daemon/session/recorder.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/bpf/loaded_programs.h"
#include "daemon/capture/host/kernel_watch.h"
#include "daemon/capture/host/sample_cost.h"
#include "daemon/os/host_files.h"
#include "daemon/session/host_info.h"
#include "daemon/session/known_process.h"
#include "daemon/session/pebs_probe.h"
#include "daemon/session/registered.h"
#include "daemon/session/untagged.h"

namespace tailor::session {
namespace {

constexpr const char* kRequestIsOver = "it was sampled on request, which is over";
// The reader closes events and hands over what their rings hold in its own time.
constexpr std::chrono::milliseconds kEndsAfter{20};
constexpr int kMostWaits = 100;
// For what runtimes write of their code: for those that say nothing new, and for all together.
constexpr std::chrono::milliseconds kForeignPace{5};
constexpr int kForeignPatience = 600;
constexpr int kMostForeignWaits = 6000;
constexpr int kFirstLookWaits = 200;
// For the BPF program.
constexpr std::chrono::milliseconds kReadyPace{2};
constexpr int kMostReadyWaits = 500;
// Of a recorder by step.
constexpr std::chrono::milliseconds kFlushPace{10};
// For files that were hit last: one that never answers holds up the end no longer.
constexpr int kMostNameWaits = 400;

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

// Instead of a thread of the user.
void at_once(std::uint32_t, const std::function<void()>& work) {
  work();
}

unwind::FileWork::Run file_work(const RecorderOptions& options) {
  if (options.by_step) return at_once;
  return unwind::on_user_threads();
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
      ids_(os, file_work(options_)),
      stacks_(os, file_work(options_)),
      backlog_(os, queue_, options_.patience),
      code_(stacks_, opener_),
      literals_(options_.keep_literals),
      drops_(os, pipeline_, input_),
      foreign_(
          os, pipeline_, input_, {},
          [this](ProcessId process, const v1::CodeObject& code) { stacks_.foreign_code(process, code); },
          file_work(options_)),
      first_looks_(os, file_work(options_)),
      pebs_trust_(clock_, [&os] { return probe_pebs_times(os); }),
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
      notes_(facts_, overhead_),
      sampled_(os, input_, reader_, cpu_, notes_, pebs_trust_, overhead_, foreign_, first_looks_),
      pebs_(os, pipeline_, on_problem_, sampled_, pebs_trust_),
      changes_(os, pipeline_, reader_, on_problem_, sampled_, notes_, overhead_),
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

  using Rounds = capture::CaptureReader::Rounds;
  const bool by_step = recorder->options_.by_step;
  Status reading = recorder->reader_.start(by_step ? Rounds::kByStep : Rounds::kByThread);
  if (!reading.ok()) return reading.error();
  recorder->watch_kernel();
  auto server = registration::Server::listen(server_options(recorder->options_), *recorder);
  if (!server.ok()) return server.error();
  recorder->server_ = std::move(*server);
  recorder->publish();
  recorder->listened_ = recorder->stirred_ = os.now();
  recorder->by_step_ = by_step;
  if (by_step) return recorder;
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
    pass(kReadyPace);
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
    pass(kForeignPace);
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
    pass(kEndsAfter);
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
  const std::future<void> is_done = done.get_future();
  requests_.post([this, &done] {
    flushes_.add(os_.now(), [&done] { done.set_value(); });
    reader_.hurry();
  });
  const auto waits = [&] { return is_done.wait_for(std::chrono::seconds(0)) != std::future_status::ready; };
  while (by_step_ && waits()) step(kFlushPace);
  is_done.wait();
}

void Recorder::run(std::function<void()> work) {
  if (thread_.joinable()) return requests_.run(std::move(work));
  work();
  if (by_step_) publish();
}

void Recorder::step(std::chrono::nanoseconds time) {
  os_.sleep(time);
  reader_.step();
  turn(false);
}

// Meanwhile the other threads work; where there are none, it is done here.
void Recorder::pass(std::chrono::nanoseconds time) {
  if (by_step_) return step(time);
  os_.sleep(time);
}

RecorderStatus Recorder::status() const {
  return status_.get();
}

void Recorder::note_cpu_time(const os::CpuTime& used) {
  run([&] { cpu_.note_command(used); });
}

void Recorder::stop() {
  if (!thread_.joinable() && !by_step_) return;
  run([this] {
    ending_ = true;
    look_at_foreign();  // what runtimes wrote at their end
  });
  hear_foreign();
  reader_.stop();  // the control thread still takes what it reads last
  const TimeNs until = os_.now();
  flush();
  run([this, until] {
    flushed_ = true;
    tell_unheard(until);
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
  if (!by_step_) return thread_.join();
  turn(true);
  by_step_ = false;
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
    pass(kForeignPace);
  }
}

// Until the files that were hit last are read.
void Recorder::hear_names() {
  for (int waits = 0; waits < kMostNameWaits; ++waits) {
    bool pending = false;
    run([&] { pending = names_.name_what_was_hit(true); });
    if (!pending) return;
    pass(kForeignPace);
  }
}

}  // namespace tailor::session
