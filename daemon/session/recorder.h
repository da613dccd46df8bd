// A running recording: the agent socket, the readers of the rings, the clock, and the one control thread that
// owns the pipeline. Two users: tailord (every process that registers, into the store) and `tailor record`
// (one command or process, a private socket, into a file).
//
//   start() ---> [attach() ... flush() ...] ---> stop()
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/cpu_time.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/tee.h"
#include "daemon/redact/message.h"
#include "daemon/registration/server.h"
#include "daemon/session/capture_queue.h"
#include "daemon/session/code_models.h"
#include "daemon/session/control_requests.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/foreign_processes.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/pauses.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/process_sampling.h"
#include "daemon/session/wall_clock.h"
#include "daemon/unwind/stack_enricher.h"
#include "proto/base/result.h"

namespace tailor::session {

struct RecorderOptions {
  std::string agent_socket;
  mode_t agent_socket_mode = 0660;
  int agent_listener = -1;                        // made by somebody else, and taken over; -1: none
  std::size_t max_processes = 4096;               // that may register
  std::size_t user_processes = 1024;              // of each user
  std::uint64_t user_messages_a_second = 50'000;  // of all of a user's agents, 0: no limit
  std::string agent_socket_group = {};            // as registration::ServerOptions
  pipeline::PipelineOptions pipeline;
  capture::CaptureOptions capture;     // of every process that is sampled
  double max_overhead = 0;             // share of a target's CPU time, 0: no bound
  std::uint64_t seed = 0;              // of the periods that max_overhead makes
  bool sample_registered = false;      // attach to each process that registers and is not sampled yet
  std::string command;                 // for the profile: what was asked for
  bool keep_literals = true;           // of query texts; false: nobody is given them, the journal neither
  ProcessRules rules = {};             // of processes that are sampled, or not, whatever they do
  pipeline::Input* journal = nullptr;  // hears every input first; must outlive the recorder
};

// A process that is sampled or registered, for the status.
struct RecordedProcess {
  profile::ProcessRecord record;
  profile::Accounting accounting;
  bool sampled = false;
  std::string not_sampled_because;
  std::uint64_t paused_ns = 0;        // all pauses together
  std::uint64_t paused_since_ns = 0;  // CLOCK_REALTIME; 0: it is not paused
};

struct RecorderStatus {
  pipeline::PipelineStats pipeline;
  profile::Accounting total;     // of all processes
  std::uint64_t stacks = 0;      // samples that brought a piece of their stack
  std::string capture_row;       // what could not be sampled, and why
  std::uint64_t own_cpu_ns = 0;  // of this program, since the recording began
  profile::RecordingInfo recording;
  registration::Counters registration;
  std::map<std::string, std::uint64_t> limits;  // what went beyond them, by configuration key
  std::string clock_source;
  std::uint64_t clock_error_ns = 0;
  std::vector<RecordedProcess> processes;
  bool all_paused = false;  // also what registers from now on
};

class Recorder : private registration::Sink {
 public:
  // On the control thread; may log.
  using OnProblem = std::function<void(const pipeline::Problem&)>;

  // Listens and samples nothing yet. `sink` is called on the control thread only; it and `os` must outlive
  // the recorder.
  static Result<std::unique_ptr<Recorder>> start(os::Os& os, RecorderOptions options,
                                                 profile::ProfileSink& sink, OnProblem on_problem);
  ~Recorder() override;

  // Any thread. Samples a process that has not registered (yet). Fails with the blocker and the remedy.
  Status attach(const pipeline::KnownProcess& process, const capture::CaptureOptions& options);

  // Any thread. Samples a process on request, unless it is sampled already.
  struct SampledProcess {
    bool registered = false;
    std::string note;  // of one that has not registered: how it could
  };
  Result<SampledProcess> sample_process(const pipeline::KnownProcess& process,
                                        const capture::CaptureOptions& options);
  // Any thread. What sample_process() began is over; a registered process stays.
  void detach(ProcessId process);

  // Any thread but the control thread. What is sampled from now on, and what no longer is, follows the rules.
  void set_rules(ProcessRules rules);
  // The same threads. Of messages that arrive from now on.
  void set_keep_literals(bool keep);

  // Any thread but the control thread. Stops sampling the process of that number, or all (nothing): also
  // those that register later. Gives those that were sampled until now; no sample is taken of them when it
  // returns. Fails if the process is not sampled. CPU time that is used during a pause is in no account.
  Result<std::vector<ProcessId>> pause(std::optional<std::int32_t> pid);
  struct Resumed {
    std::vector<ProcessId> processes;
    std::vector<std::string> problems;  // why others cannot be sampled
  };
  // The same threads. Goes on with the one, or with all. Fails if the process is not paused.
  Result<Resumed> resume(std::optional<std::int32_t> pid);

  // Any thread. Waits until everything that happened before the call is attributed and was given to the sink,
  // two seconds at most.
  void flush();
  // Any thread but the control thread. Runs `work` there, between two inputs, and waits; after stop(), here.
  void run(std::function<void()> work);
  // Any thread, without waiting. As the control thread published it last: at most a moment ago, and after the
  // other calls here that the same thread has made.
  RecorderStatus status() const;

  // Any thread. All that the recorded command and its children have used in the end, which nobody else knows
  // as well: what samples stand for is held against that.
  void note_cpu_time(const os::CpuTime& used);

  // Stops reading, flushes and joins. Not while another call runs; afterwards only status() may be called.
  // The destructor does it if nobody did.
  void stop();

 private:
  Recorder(os::Os& os, RecorderOptions options, profile::ProfileSink& sink, OnProblem on_problem);

  // registration::Sink
  void on_connected(const registration::PeerConnected& event) override;
  void on_message(registration::PeerMessage event) override;
  void on_arena(const registration::ArenaMapped& event) override;
  void on_activity(registration::ActivityRecords event) override { input_.on_activity(event); }
  void on_settled(const registration::Settled& event) override { input_.on_settled(event); }
  void on_rejected(const registration::PeerRejected& event) override { input_.on_rejected(event); }
  void on_gone(const registration::PeerGone& event) override;
  void on_refused(const registration::PeerRefused& event) override;

  // Control thread.
  void control();
  void take_captured();
  void take(CaptureMessage& message);
  void finish_flushes();
  bool arrived(TimeNs time);
  void publish();
  void tell_problems();
  void tell_limits();
  void tell_dropped(ProcessId process);
  void tell_clock();
  void tell_wall_clock();
  void tell_cpu_times();
  void sweep();

  // How processes without an agent are spoken for.
  void speak_for_foreign();
  bool follows_children() const;

  // What is sampled, and how (recorder_sampling.cc).
  // `note`: for the profile, "" for none.
  Status sample(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
                const std::string& note = {});
  std::string sample_registered(const registration::PeerConnected& event);
  bool is_sampled(ProcessId process) const;
  bool is_registered(ProcessId process);
  void recording_ended(const RecordingEnded& ended);
  void tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on);
  bool reopen(const ProcessSampling& before);
  void tell_unread_slots(const registration::PeerConnected& event);
  void tell_recording(ProcessId process);

  // How it changes while it runs (recorder_periods.cc).
  void watch_pebs();
  void govern();
  void resample(ProcessSampling& sampled);
  void follow_family(capture::CaptureOptions& options);
  void watch_births();
  void redraw_periods();
  Status draw_anew(ProcessSampling& sampled, const capture::CaptureOptions& options);
  void change_to_cpus(ProcessSampling& sampled, double births_per_second);
  TargetProgress progress_of(ProcessId process);

  // Pauses (recorder_pause.cc).
  struct Paused {
    capture::CaptureOptions options;
    bool on_request = false, by_rule = false;
  };
  void go_on(ProcessId process, Resumed& resumed);
  void paused(const ProcessSampling& before, TimeNs time);
  std::string pause_if_all_are(ProcessId process);
  void forget_pause(ProcessId process);
  void tell_pauses();

  // Rules (recorder_rules.cc).
  void leave(ProcessSampling& sampled, const char* why);
  void settle_ignored();
  std::string ignore_if_told(ProcessId process);
  void follow_rules();

  os::Os& os_;
  RecorderOptions options_;
  OnProblem on_problem_;
  CaptureQueue queue_;
  ControlRequests requests_;

  // All below is the control thread's alone.
  redact::MessageRedactor redactor_;
  std::map<ProcessId, redact::DoubleQuotes> double_quotes_;  // of registered processes
  pipeline::Pipeline pipeline_;
  pipeline::Tee input_;
  LiveClock clock_;
  WallClock wall_clock_;
  CpuAccounts cpu_;
  PebsTrust pebs_trust_;
  OverheadControl overhead_;
  unwind::StackEnricher stacks_;
  bpf::Opener opener_;
  CodeModels code_;
  ForeignProcesses foreign_;
  profile::RecordingInfo recording_;
  std::size_t told_sources_ = 0;    // of recording_, when it was told
  std::vector<std::string> notes_;  // of what is sampled

  std::vector<ProcessSampling> sampled_;
  std::map<capture::RecordingNumber, ProcessId> replaced_;  // by a newer one, and still to end
  std::map<ProcessId, std::string> not_sampled_;            // why
  Pauses pauses_;
  std::map<ProcessId, Paused> paused_;         // those that go on, and how
  std::set<ProcessId> ignored_;                // registered ones
  std::set<ProcessId> refused_by_rules_;       // that rules choose, and that cannot be sampled
  std::map<ProcessId, NamesFrom> names_from_;  // of those that rules choose
  std::map<ProcessId, std::shared_ptr<const registration::ArenaView>> arenas_;  // the first of each

  struct Flush {
    TimeNs until;     // everything up to here
    TimeNs deadline;  // then without it
    std::function<void()> done;
  };
  std::vector<Flush> flushes_;
  TimeNs next_sweep_ = kTimeMin, next_publish_ = kTimeMin;
  bool ending_ = false;   // stop() was called
  bool flushed_ = false;  // by it

  // These call into what stands above.
  std::unique_ptr<capture::CaptureReader> reader_;
  std::unique_ptr<registration::Server> server_;
  std::thread thread_;
  mutable std::mutex status_mutex_;  // guards the one below
  std::shared_ptr<const RecorderStatus> status_;
};

}  // namespace tailor::session
