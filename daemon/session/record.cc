#include "daemon/session/record.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include "daemon/journal/journal_writer.h"
#include "daemon/os/host_files.h"
#include "daemon/os/launched_command.h"
#include "daemon/profile/tee_sink.h"
#include "daemon/query/load/hit_functions.h"
#include "daemon/session/host_info.h"
#include "daemon/session/known_process.h"
#include "daemon/session/recorder.h"
#include "daemon/store/file_writer.h"
#include "daemon/store/output_target.h"
#include "daemon/store/selecting_sink.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {
namespace {

// With files that call stacks need: well below PipelineOptions::max_lag.
constexpr unwind::PatienceLimits kNobodyElseWaits{.of_a_message = 800'000'000,
                                                  .of_a_user = 3'600'000'000'000};

// An agent looks for a daemon every five seconds at least.
constexpr TimeNs kAgentPatience = 6'000'000'000;
constexpr std::chrono::milliseconds kAgentPace{20};

// A directory for the private socket.
class TemporaryDirectory {
 public:
  static Result<TemporaryDirectory> make() {
    const char* base = std::getenv("TMPDIR");
    std::string name = std::string(base != nullptr ? base : "/tmp") + "/tailor-XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return os_error(fmt::format("cannot create {}", name), errno);
    return TemporaryDirectory(std::move(name));
  }
  TemporaryDirectory(TemporaryDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryDirectory& operator=(TemporaryDirectory&&) = delete;
  ~TemporaryDirectory() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Takes the signals that would end us, from construction to destruction.
class SignalsForTheCommand {
 public:
  SignalsForTheCommand() {
    ::sigemptyset(&set_);
    for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::sigaddset(&set_, signal);
    ::pthread_sigmask(SIG_BLOCK, &set_, &before_);
    fd_.reset(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalsForTheCommand() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsForTheCommand(const SignalsForTheCommand&) = delete;
  SignalsForTheCommand& operator=(const SignalsForTheCommand&) = delete;

  int fd() const { return fd_.get(); }
  // Whether one has come since the last call.
  bool came() {
    signalfd_siginfo info{};
    return ::read(fd_.get(), &info, sizeof info) == sizeof info;
  }
  // What a terminal sends goes to the whole group: the command has it already.
  void pass_on(pid_t command) {
    signalfd_siginfo info{};
    while (::read(fd_.get(), &info, sizeof info) == sizeof info) {
      if (info.ssi_code != SI_KERNEL) ::kill(command, static_cast<int>(info.ssi_signo));
    }
  }

 private:
  sigset_t set_{}, before_{};
  UniqueFd fd_;
};

std::uint64_t nanoseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

struct Ended {
  int exit_code = 0;
  os::CpuTime used;  // with the children that were waited for
};

Ended wait_for(pid_t command, const UniqueFd& pidfd, SignalsForTheCommand& signals) {
  while (true) {
    std::array<pollfd, 2> waiting = {pollfd{pidfd.get(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
    if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) break;
    signals.pass_on(command);
    if (waiting[0].revents != 0) break;
  }
  int status = 0;
  rusage usage{};
  while (::wait4(command, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  return {WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status),
          {nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime)}};
}

std::string joined(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
  return line;
}

Result<UniqueFd> open_pidfd(os::Os& os, pid_t pid) {
  auto pidfd = os.pidfd_open(pid);
  if (!pidfd.ok()) return in_context("cannot watch for the end of the command: ", pidfd.error());
  return pidfd;
}

RecordOutcome outcome_of(int exit_code, Recorder& recorder, const store::FileWriter& file) {
  RecordOutcome outcome;
  outcome.exit_code = exit_code;
  RecorderStatus status = recorder.status();
  outcome.total = status.total;
  outcome.pipeline = status.pipeline;
  outcome.stacks = status.stacks;
  outcome.sampling_notes = status.sampling_notes;
  outcome.own_cpu_ns = status.own_cpu_ns;
  outcome.recording = status.recording;
  outcome.samples_written = file.stats().samples;
  outcome.bytes_written = file.stats().bytes;
  return outcome;
}

// What a recording writes.
struct Outputs {
  std::unique_ptr<journal::JournalWriter> journal;  // NULL: none
  std::unique_ptr<store::FileWriter> file;
  bool on_standard_output = false;

  void begin() const {
    file->begin();
    if (journal != nullptr) journal->begin();
  }
};

// Before the command is launched: to open a pipe waits for its reader, and Ctrl-C must end that.
Result<Outputs> open_outputs(const RecordOptions& options, RecorderOptions& live) {
  Outputs out;
  store::OutputOptions how;
  how.shown = store::OutputOptions::Shown::kWhenBegun;
  out.on_standard_output = store::is_standard_output(options.output);
  if (!options.journal.empty()) {
    const bool journal_too = store::is_standard_output(options.journal);
    if (out.on_standard_output && journal_too)
      return invalid("the profile and the journal cannot both go to standard output");
    out.on_standard_output = out.on_standard_output || journal_too;
    auto journal = journal::JournalWriter::create(options.journal, live.pipeline, how);
    if (!journal.ok()) return journal.error();
    out.journal = *std::move(journal);
    live.journal = out.journal.get();
  }
  how.keep_old = options.keep_old;
  auto file = store::FileWriter::create(options.output, how);
  if (!file.ok()) return file.error();
  out.file = *std::move(file);
  return out;
}

// What a recording gives out goes to its file, and its functions get their names at the end.
class NamedProfile {
 public:
  explicit NamedProfile(profile::ProfileSink& file) : sink_({&file, &hits_}) {}
  profile::ProfileSink& sink() { return sink_; }
  std::vector<profile::FileNames> names(const query::FindKept& kept) const {
    return hits_.names(kept, query::symbol_cache());
  }

 private:
  query::HitFunctions hits_;
  profile::TeeSink sink_;
};

// Where the process was told to look for a daemon.
std::string socket_of(const RunningProcess& process) {
  std::ifstream file(fmt::format("/proc/{}/environ", process.pid), std::ios::binary);
  constexpr std::string_view kName = "TAILOR_SOCKET=";
  for (std::string word; std::getline(file, word, '\0');) {
    if (word.starts_with(kName)) return word.substr(kName.size());
  }
  return process.agent_socket;
}

// The process may be another user's: it must be able to connect.
void give_socket_to(const std::string& socket, std::int32_t pid) {
  struct stat info{};
  if (::stat(fmt::format("/proc/{}", pid).c_str(), &info) != 0 || info.st_uid == ::geteuid()) return;
  if (::lchown(socket.c_str(), info.st_uid, static_cast<gid_t>(-1)) != 0) return;
}

// Until it has registered, if it has an agent.
void wait_for_agent(os::Os& os, Recorder& recorder, ProcessId process) {
  if (agent_thread_of(os.proc(), process.pid) == 0) return;
  const TimeNs end = os.now() + kAgentPatience;
  while (os.now() < end) {
    for (const RecordedProcess& each : recorder.status().processes) {
      if (each.record.process == process && each.record.registered != kTimeMin) return;
    }
    os.sleep(kAgentPace);
  }
}

void wait_for_end(os::Os& os, const UniqueFd& pidfd, double seconds, SignalsForTheCommand& signals) {
  const TimeNs began = os.now();
  for (;;) {
    std::array<pollfd, 2> waiting = {pollfd{pidfd.get(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
    const double left = seconds * 1e3 - static_cast<double>(os.now() - began) / 1e6;  // ms
    if (seconds > 0 && left <= 0) return;
    const int timeout = seconds > 0 ? static_cast<int>(std::min(left + 1, 1e6)) : -1;
    if (::poll(waiting.data(), waiting.size(), timeout) < 0 && errno != EINTR) return;
    if (waiting[0].revents != 0 || signals.came()) return;
  }
}

}  // namespace

Result<RecordOutcome> record(os::Os& os, const RecordOptions& options) {
  auto capture = config::capture_options(os, options.sampling);
  if (!capture.ok()) return capture.error();
  capture->enable_on_exec = true;
  capture->follow_children = true;
  auto directory = TemporaryDirectory::make();
  if (!directory.ok()) return directory.error();
  RecorderOptions live;
  live.agent_socket = directory->path() + "/agent.sock";
  live.agent_socket_mode = 0600;
  live.capture = std::move(*capture);
  live.pipeline.max_lag += options.sampling.aggregate;
  live.pipeline.all_marks = options.sampling.all_marks;
  live.command = joined(options.command);
  live.max_overhead = options.sampling.max_overhead;
  live.seed = options.sampling.seed;
  live.untagged_ppm = options.sampling.untagged_executions;
  live.patience = kNobodyElseWaits;

  auto outputs = open_outputs(options, live);
  if (!outputs.ok()) return outputs.error();
  auto command =
      os::LaunchedCommand::launch(options.command, {"TAILOR_SOCKET=" + live.agent_socket},
                                  outputs->on_standard_output ? os::LaunchedCommand::Prints::kOnStandardError
                                                              : os::LaunchedCommand::Prints::kAsWe);
  if (!command.ok()) return command.error();
  auto process = os::identify(os, command->pid());
  if (!process.ok()) return process.error();
  auto pidfd = open_pidfd(os, command->pid());
  if (!pidfd.ok()) return pidfd.error();
  SignalsForTheCommand signals;

  NamedProfile profile(*outputs->file);
  live.name_functions = [&](const query::FindKept& kept) { return profile.names(kept); };
  std::vector<pipeline::Problem> problems;
  auto recorder = Recorder::start(os, live, profile.sink(), [&](const pipeline::Problem& problem) {
    if (problems.size() < 64) problems.push_back(problem);
  });
  if (!recorder.ok()) return recorder.error();
  Status attached = (*recorder)->attach({*process, comm_of(os.proc(), command->pid())}, live.capture);
  if (!attached.ok()) return attached.error();
  const TimeNs began = os.now();
  Status started = command->start();
  if (!started.ok()) return started.error();
  outputs->begin();

  const Ended ended = wait_for(command->pid(), *pidfd, signals);
  const auto wall_ns = static_cast<std::uint64_t>(os.now() - began);
  (*recorder)->note_cpu_time(ended.used);
  (*recorder)->stop();
  Status finished = outputs->file->finish();
  if (!finished.ok()) return finished.error();
  RecordOutcome outcome = outcome_of(ended.exit_code, **recorder, *outputs->file);
  outcome.wall_ns = wall_ns;
  outcome.problems = std::move(problems);
  if (outputs->journal != nullptr) {
    Status kept = outputs->journal->finish();
    if (!kept.ok()) return kept.error();
  }
  return outcome;
}

Result<RecordOutcome> record_running(os::Os& os, const RecordOptions& options,
                                     const RunningProcess& running) {
  auto process = os::identify(os, running.pid);
  if (!process.ok()) return process.error();
  auto pidfd = open_pidfd(os, running.pid);
  if (!pidfd.ok()) return pidfd.error();
  auto capture = config::capture_options(os, options.sampling);
  if (!capture.ok()) return capture.error();
  RecorderOptions live;
  live.agent_socket = socket_of(running);
  live.agent_socket_mode = 0600;
  live.capture = std::move(*capture);
  live.pipeline.max_lag += options.sampling.aggregate;
  live.pipeline.all_marks = options.sampling.all_marks;
  live.command = fmt::format("process {}", running.pid);
  live.max_overhead = options.sampling.max_overhead;
  live.seed = options.sampling.seed;
  live.untagged_ppm = options.sampling.untagged_executions;
  live.patience = kNobodyElseWaits;
  std::error_code unwritable;  // told by who listens there
  std::filesystem::create_directories(std::filesystem::path(live.agent_socket).parent_path(), unwritable);

  auto outputs = open_outputs(options, live);
  if (!outputs.ok()) return outputs.error();
  SignalsForTheCommand signals;
  // Other engines may look for a daemon at the same place.
  NamedProfile profile(*outputs->file);
  live.name_functions = [&](const query::FindKept& kept) { return profile.names(kept); };
  store::SelectingSink selected(profile.sink(), *process, kTimeMin, kTimeMax);
  std::vector<pipeline::Problem> problems;
  auto recorder = Recorder::start(os, live, selected, [&](const pipeline::Problem& problem) {
    if (problems.size() < 64) problems.push_back(problem);
  });
  if (!recorder.ok()) return recorder.error();
  give_socket_to(live.agent_socket, running.pid);
  wait_for_agent(os, **recorder, *process);
  auto sampled = (*recorder)->sample_process(*process, live.capture);
  if (!sampled.ok()) return sampled.error();
  outputs->begin();
  const TimeNs began = os.now();
  if (running.on_begin) running.on_begin(sampled->note);
  wait_for_end(os, *pidfd, running.seconds, signals);
  const auto wall_ns = static_cast<std::uint64_t>(os.now() - began);
  (*recorder)->stop();
  Status finished = outputs->file->finish();
  if (!finished.ok()) return finished.error();
  RecordOutcome outcome = outcome_of(0, **recorder, *outputs->file);
  outcome.wall_ns = wall_ns;
  outcome.problems = std::move(problems);
  if (outputs->journal != nullptr) {
    Status kept = outputs->journal->finish();
    if (!kept.ok()) return kept.error();
  }
  return outcome;
}

}  // namespace tailor::session
