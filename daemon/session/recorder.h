// A running recording: the agent socket, the readers of the rings, the clock, and the one control thread that
// owns the pipeline. Two users: tailord (every process that registers, into the store) and `tailor record`
// (one command or process, a private socket, into a file).
//
//   start() ---> [attach() ... flush() ...] ---> stop()
#pragma once

#include <chrono>
#include <condition_variable>
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
#include "daemon/capture/host/placement.h"
#include "daemon/os/cpu_time.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/tee.h"
#include "daemon/redact/message.h"
#include "daemon/registration/server.h"
#include "daemon/session/capture_queue.h"
#include "daemon/session/cpu_coverage.h"
#include "daemon/session/foreign_process.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/pauses.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/process_rules.h"
#include "daemon/unwind/stack_enricher.h"
#include "proto/base/result.h"

namespace tailor::session {

struct RecorderOptions {
  std::string agent_socket;
  mode_t agent_socket_mode = 0660;
  int agent_listener = -1;                        // made by somebody else, and taken over; -1: none
  std::size_t user_processes = 1024;              // that may register
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
  pipeline::Input* journal = nullptr;  // hears every input first; must outlive the session
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
  std::uint64_t own_cpu_ns = 0;  // of this program, since the session began
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
  // the session.
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
  RecorderStatus status();

  // Any thread. All that the recorded command and its children have used in the end, which nobody else knows
  // as well: what samples stand for is held against that.
  void note_cpu_time(const os::CpuTime& used);

  // Stops reading, flushes and joins. Not while another call runs; afterwards only status() may be called.
  // The destructor does it if nobody did.
  void stop();

 private:
  struct Sampled {
    ProcessId process;
    capture::RecordingNumber session;
    capture::CaptureOptions options;            // as asked for
    bool large_pebs = false;                    // as opened
    bool reads_slots = false;                   // of threads' memory, for tags
    bool user_mode_only = false;                // as opened
    std::optional<capture::BirthWatch> births;  // where the timers of threads may miss them
    bool on_request = false;
    bool by_rule = false;        // it has not registered
    bool detached = false;       // the process goes on
    bool pausing = false;        // and is to be sampled again some day; then it is detached too
    TimeNs redraw = kTimeMax;    // when its periods are drawn anew by us; kTimeMax: not
    TimeNs reopened = kTimeMin;  // since when it ends, to be sampled otherwise; kTimeMin: it does not
  };

  Recorder(os::Os& os, RecorderOptions options, profile::ProfileSink& sink, OnProblem on_problem);

  // registration::Sink
  void OnConnected(const registration::PeerConnected& event) override;
  void OnMessage(registration::PeerMessage event) override;
  void OnArena(const registration::ArenaMapped& event) override;
  void OnActivity(registration::ActivityRecords event) override { input_.on_activity(event); }
  void OnSettled(const registration::Settled& event) override { input_.on_settled(event); }
  void OnRejected(const registration::PeerRejected& event) override { input_.on_rejected(event); }
  void OnGone(const registration::PeerGone& event) override;
  void OnRefused(const registration::PeerRefused& event) override;

  // Control thread.
  void control();
  void take_captured();
  void tell_opener(const registration::PeerMessage& event);
  void take(CaptureMessage& word);
  void do_requests();
  void finish_flushes();
  bool arrived(TimeNs time);
  void tell_problems();
  void tell_limits();
  void tell_dropped(ProcessId process);
  void speak_for_foreign();
  void adopt_foreign();
  bool is_over(ProcessId process);
  bool flushed_ = false;  // by stop()
  void sweep();
  void tell_cpu_times();
  std::uint64_t on_cpu_ns_of(ProcessId process);
  void look_at_cpu_time(const Sampled& sampled);
  void settle_cpu_coverage();
  void govern();
  void resample(Sampled& sampled);
  void follow_family(capture::CaptureOptions& options);
  void watch_births();
  void redraw_periods();
  void change_to_cpus(Sampled& sampled, double births_per_second);
  TargetProgress progress_of(ProcessId process);
  void tell_clock();
  void watch_pebs();
  struct Paused {
    capture::CaptureOptions options;
    bool on_request = false, by_rule = false;
  };
  void leave(Sampled& sampled, const char* why);
  void settle_ignored();
  std::string ignore_if_told(ProcessId process);
  void follow_rules();
  void go_on(ProcessId process, Resumed& resumed);
  void paused(const Sampled& before, TimeNs time);
  std::string pause_if_all_are(ProcessId process);
  void forget_pause(ProcessId process);
  void tell_pauses();
  void tell_wall_clock();
  void session_ended(const RecordingEnded& ended);
  void tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on);
  bool reopen(const Sampled& before);
  // `note`: for the profile, "" for none.
  Status sample(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
                const std::string& note = {});
  bool is_sampled(ProcessId process) const;
  bool is_registered(ProcessId process);
  std::string sample_registered(const registration::PeerConnected& event);
  void tell_unread_slots(const registration::PeerConnected& event);
  void tell_recording(ProcessId process);

  os::Os& os_;
  RecorderOptions options_;
  OnProblem on_problem_;
  redact::MessageRedactor redactor_;
  std::map<ProcessId, redact::DoubleQuotes> double_quotes_;  // of registered processes; control thread
  pipeline::Pipeline pipeline_;
  pipeline::Tee input_;
  LiveClock clock_;
  PebsTrust pebs_trust_;  // control thread
  OverheadControl overhead_;
  profile::RecordingInfo recording_;
  std::size_t told_sources_ = 0;  // of recording_, when it was told
  CaptureQueue queue_;
  bpf::Opener opener_;
  std::unique_ptr<capture::CaptureReader> reader_;
  std::unique_ptr<registration::Server> server_;
  std::vector<Sampled> sampled_;  // control thread
  std::map<capture::RecordingNumber, ProcessId>
      replaced_;                                  // by a newer one, and still to end; control thread
  bool ending_ = false;                           // control thread
  std::map<ProcessId, std::string> not_sampled_;  // why; control thread
  Pauses pauses_;                                 // control thread
  std::map<ProcessId, Paused> paused_;            // those that go on, and how; control thread
  TimeNs next_wall_look_ = kTimeMin;
  std::set<ProcessId> ignored_;           // registered ones; control thread
  std::set<ProcessId> refused_by_rules_;  // that rules choose, and that cannot be sampled; control thread
  std::map<ProcessId, NamesFrom> names_from_;  // of those that rules choose; control thread
  std::map<ProcessId, std::shared_ptr<const registration::ArenaView>> arenas_;  // the first; control thread
  std::map<ProcessId, ForeignProcess> foreign_;                                 // control thread
  std::set<ProcessId> spoken_for_;  // as foreign ones, to their end
  TimeNs next_sweep_ = kTimeMin;
  std::optional<std::uint64_t> steal_before_;  // when the session began
  std::vector<std::string> notes_;             // of what is sampled; control thread
  std::uint64_t cpu_before_ = 0;               // own CPU time when the session began
  CpuCoverageOfProcesses coverage_;            // control thread
  std::optional<os::CpuTime> command_used_;    // control thread
  bool user_mode_only_ = false;                // some process is sampled so; control thread
  unwind::StackEnricher stacks_;               // control thread

  struct Flush {
    TimeNs until;     // everything up to here
    TimeNs deadline;  // then without it
    std::function<void()> done;
  };
  std::vector<Flush> flushes_;  // control thread

  std::mutex mutex_;  // guards the two below
  std::vector<std::function<void()>> requests_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tailor::session
