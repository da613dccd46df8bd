// A running recording: the agent socket, the readers of the rings, the clock, and the one control thread that
// owns the pipeline. Two users: tailord (every process that registers, into the store) and `tailor record`
// (one command or process, a private socket, into a file).
//
//   start() ---> [attach() ... flush() ...] ---> stop()
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/cpu_time.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/tee.h"
#include "daemon/registration/server.h"
#include "daemon/session/agent_drops.h"
#include "daemon/session/agent_literals.h"
#include "daemon/session/capture_backlog.h"
#include "daemon/session/capture_queue.h"
#include "daemon/session/code_models.h"
#include "daemon/session/control_requests.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/first_looks.h"
#include "daemon/session/flushes.h"
#include "daemon/session/foreign_processes.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/live_names.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/paused_processes.h"
#include "daemon/session/pebs_reopening.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/rate_changes.h"
#include "daemon/session/recorder_status.h"
#include "daemon/session/recording_facts.h"
#include "daemon/session/rule_follower.h"
#include "daemon/session/sampled_processes.h"
#include "daemon/session/sampling_changes.h"
#include "daemon/session/sampling_notes.h"
#include "daemon/session/step_clock.h"
#include "daemon/session/wall_clock.h"
#include "daemon/unwind/mapping_ids.h"
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
  capture::CaptureOptions capture;  // of every process that is sampled
  double max_overhead = 0;          // share of a target's CPU time, 0: no bound
  std::uint64_t seed = 0;           // of the periods that max_overhead makes
  bool sample_registered = false;   // attach to each process that registers and is not sampled yet
  std::string command;              // for the profile: what was asked for
  std::uint32_t untagged_ppm = 0;   // of a million executions, how many engines are asked to run without tags
  bool keep_literals = true;        // of query texts; false: nobody is given them, the journal neither
  ProcessRules rules = {};          // of processes that are sampled, or not, whatever they do
  AskRates ask_rates = {};          // of processes, besides set_rate(); may be empty
  // Called on the control thread before it publishes a status, also while start() runs. May be empty.
  std::function<void()> on_publish = {};
  pipeline::Input* journal = nullptr;    // hears every input first; must outlive the recorder
  unwind::PatienceLimits patience = {};  // with files that call stacks need
  // Says what functions of files are called, behind all samples; the files that are mapped are held open for
  // it. Called on the control thread. May be empty.
  NameFunctions name_functions = {};
  // No thread is started. Whatever waits lets the time of `os` move on and makes a step; only step() does so
  // otherwise. For tests: all calls come from one thread then, and nothing depends on how busy the host is.
  bool by_step = false;
  // Names them while the recording runs. It hears what `sink` hears, and outlives the recorder. NULL: nobody.
  FunctionNamer* namer = nullptr;
};

class Recorder : private registration::Sink {
 public:
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
  Result<SampledProcess> sample_process(ProcessId process, const capture::CaptureOptions& options);
  // Any thread. What sample_process() began is over; a registered process stays.
  void detach(ProcessId process);

  // Any thread but the control thread. What is sampled from now on, and what no longer is, follows the rules.
  void set_rules(ProcessRules rules);
  // The same threads. Of messages that arrive from now on.
  void set_keep_literals(bool keep);
  // The same threads. Of executions that begin after the agents have heard of it.
  void set_untagged(std::uint32_t ppm);

  // Any thread but the control thread. Stops sampling the process of that number, or all (nothing): also
  // those that register later. Gives those that were sampled until now; no sample is taken of them when it
  // returns. Fails if the process is not sampled. CPU time that is used during a pause is in no account.
  Result<std::vector<ProcessId>> pause(std::optional<std::int32_t> pid);
  // The same threads. Goes on with the one, or with all. Fails if the process is not paused.
  Result<Resumed> resume(std::optional<std::int32_t> pid);

  // The same threads. Samples the process of that number, or all (nothing) that have no rate of their own, as
  // often as asked for, for so long; 0: until it is changed. `capture`: the events of
  // RecorderOptions::capture with periods for that. Fails if the process is not sampled, and beyond the
  // limits of Rates.
  Result<RatesChanged> set_rate(std::optional<std::int32_t> pid, Rate rate, TimeNs lasts);
  // The same threads. Goes back. Fails if there is nothing to go back from.
  Result<RatesChanged> reset_rate(std::optional<std::int32_t> pid);

  // Any thread. Waits until everything that happened before the call is attributed and was given to the sink,
  // two seconds at most.
  void flush();
  // Any thread but the control thread. Runs `work` there, between two inputs, and waits; after stop(), here.
  void run(std::function<void()> work);
  // Any thread, without waiting. As the control thread published it last: at most a moment ago (a second,
  // where nobody is registered), and after the other calls here that the same thread has made.
  RecorderStatus status() const;
  // Any thread, without waiting. The control thread publishes a status as soon as it can. After stop(), and
  // by step, there is none, and nothing is asked.
  void ask_for_status() {
    if (thread_.joinable()) requests_.ask_for_turn();
  }
  // Any thread, without waiting. For how long the control thread has not done what was asked of it by
  // ask_for_status(); 0: it has.
  std::chrono::nanoseconds held_up() const { return requests_.awaited(); }

  // Any thread. All that the recorded command and its children have used in the end, which nobody else knows
  // as well: what samples stand for is held against that.
  void note_cpu_time(const os::CpuTime& used);

  // Of a recorder by step: lets so much time pass, and then makes one round of the reader and one turn of the
  // control thread.
  void step(std::chrono::nanoseconds time);

  // Stops reading, flushes and joins. Not while another call runs; afterwards only status() may be called.
  // The destructor does it if nobody did.
  void stop();

 private:
  Recorder(os::Os& os, RecorderOptions options, profile::ProfileSink& sink, OnProblem on_problem);

  // registration::Sink
  void on_awake() override { step_.begin(); }
  bool may_begin(ProcessId process) override;
  registration::Prepare preparation(ProcessId process) override;
  void on_connected(const registration::PeerConnected& event) override;
  void on_message(registration::PeerMessage event) override;
  void on_arena(const registration::ArenaMapped& event) override { drops_.mapped(event); }
  void on_activity(registration::ActivityRecords event) override {
    stirred_ = listened_;
    input_.on_activity(event);
  }
  void on_settled(const registration::Settled& event) override { input_.on_settled(event); }
  void on_rejected(const registration::PeerRejected& event) override { input_.on_rejected(event); }
  void on_gone(const registration::PeerGone& event) override;
  void on_refused(const registration::PeerRefused& event) override;

  void watch_kernel();

  // Control thread.
  void control();
  void turn(bool last);
  void wait_and_listen(bool last);
  bool is_quiet() const;
  void look_at_clocks();
  bool take(CaptureMessage& message, unwind::Patience* patience);
  bool take_chunk(capture::RingChunk& chunk, unwind::Patience* patience);
  void recording_ended(const RecordingEnded& ended);
  void tell_closed(ProcessId process);
  void look_at_foreign();
  void look_again(ProcessId process, TimeNs since);
  void take_first_looks();
  void finish_flushes();
  bool arrived(TimeNs time);
  void tell_problems();
  void tell_unheard(TimeNs until);
  void tell_limits();
  void sweep();
  void look_at_rules();
  void end_those_that_are_gone();
  void publish();

  // Any thread but the control thread.
  void pass(std::chrono::nanoseconds time);
  void wait_until_ready(const capture::CaptureOptions& options);
  void hear_foreign();
  std::string foreign_source_of(ProcessId process);
  void hear_names();

  std::string sample_registered(ProcessId process);
  std::string why_not_now(ProcessId process);
  void tell_unread_slots(const registration::PeerConnected& event);

  os::Os& os_;
  RecorderOptions options_;
  OnProblem on_problem_;
  CaptureQueue queue_;
  ControlRequests requests_;
  PublishedStatus status_;

  // All below is the control thread's alone.
  pipeline::Pipeline pipeline_;
  pipeline::Tee input_;
  LiveClock clock_;
  WallClock wall_clock_;
  CpuAccounts cpu_;
  StepClock step_;
  RecordingFacts facts_;

  // What agents say.
  unwind::MappingIds ids_;
  unwind::StackEnricher stacks_;
  CaptureBacklog backlog_;
  bpf::Opener opener_;
  CodeModels code_;
  AgentLiterals literals_;
  AgentDrops drops_;
  ForeignProcesses foreign_;

  // Which processes are sampled, and how.
  FirstLooks first_looks_;
  PebsTrust pebs_trust_;
  OverheadControl overhead_;
  capture::CaptureReader reader_;  // calls queue_ and opener_
  LiveNames names_;
  SamplingNotes notes_;
  SampledProcesses sampled_;
  PebsReopening pebs_;
  SamplingChanges changes_;
  RateChanges rates_;
  PausedProcesses paused_;
  RuleFollower rules_;

  Flushes flushes_;
  TimeNs next_sweep_ = kTimeMin, next_publish_ = kTimeMin, next_foreign_ = kTimeMin, next_rules_ = kTimeMin;
  TimeNs listened_ = 0;   // to agents, before this round
  TimeNs stirred_ = 0;    // when somebody did or said something last
  TimeNs looked_ = 0;     // at what the sampled processes have used
  bool idle_ = false;     // nobody is registered or sampled
  bool quiet_ = false;    // they do nothing
  bool ending_ = false;   // stop() was called
  bool flushed_ = false;  // by it
  bool by_step_ = false;  // until stop()

  std::unique_ptr<registration::Server> server_;  // calls what stands above
  std::thread thread_;
};

}  // namespace tailor::session
