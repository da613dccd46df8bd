// The processes whose events are open, and the states of all. Opens events, puts others in their
// place, closes them, and takes note of their end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/os/os.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/pipeline.h"
#include "daemon/session/capture_queue.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/first_looks.h"
#include "daemon/session/foreign_processes.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/process_sampling.h"
#include "daemon/session/process_states.h"
#include "daemon/session/recording_facts.h"
#include "proto/base/result.h"

namespace tailor::session {

// Control thread only.
class SampledProcesses {
 public:
  struct Parts {
    os::Os& os;
    pipeline::Pipeline& pipeline;
    pipeline::Input& input;
    capture::CaptureReader& reader;
    const LiveClock& clock;
    CpuAccounts& cpu;
    RecordingFacts& facts;
    const OnProblem& on_problem;
  };
  // All must outlive this.
  SampledProcesses(const Parts& parts, PebsTrust& pebs_trust, OverheadControl& overhead,
                   ForeignProcesses& foreign, FirstLooks& looks)
      : parts_(parts), pebs_trust_(pebs_trust), overhead_(overhead), foreign_(foreign), looks_(looks) {}

  // Told of each process that open() has opened, and of each part of what it had mapped.
  using OnOpened = std::function<void(const pipeline::KnownProcess&)>;
  void set_on_opened(OnOpened on_opened) { on_opened_ = std::move(on_opened); }

  // Whether open() with these options would take no long step (bpf::Opener::is_ready). If not, what it needs
  // is being made: ask again some milliseconds later.
  using IsReady = std::function<bool(const capture::CaptureOptions&)>;
  void set_is_ready(IsReady is_ready) { is_ready_ = std::move(is_ready); }
  bool may_open(const capture::CaptureOptions& options);

  // Samples a process from now on. `note`: for the profile, "" for none. Fails with the blocker and the
  // remedy. What it had mapped before follows with take_looks().
  Status open(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
              const Origin& origin, const std::string& note = {});
  // The same by its number and name of now.
  Status open_running(ProcessId process, const capture::CaptureOptions& options, const Origin& origin);
  void take_looks();
  // Records of what it has mapped were lost.
  void look_again(ProcessId process, TimeNs since);
  // Other events take the place of those that are open, which stay if that fails; `options` are settled.
  Result<capture::Attached> replace(ProcessSampling& sampled, const capture::CaptureOptions& options);
  // The same with options as they are asked for, which hold from now on.
  Status change(ProcessSampling& sampled, const capture::CaptureOptions& options);
  // The events are closed. ended() follows.
  void close(const ProcessSampling& sampled) { parts_.reader.remove(sampled.recording); }
  // The process goes on unsampled, `how`: kLeave or kIgnore. False: that was so already.
  bool leave(ProcessSampling& sampled, SamplingEvent how, const std::string& why);

  // The reader has finished a recording. Gives what is over, and the state until then; nothing, where other
  // events are in its place.
  struct Ended {
    ProcessSampling sampling;
    SamplingState state;
  };
  std::optional<Ended> ended(const RecordingEnded& ended);

  std::vector<ProcessSampling>& all() { return sampled_; }
  std::size_t count() const { return sampled_.size(); }
  // How often open() has succeeded.
  std::uint64_t opened() const { return opened_; }
  bool contains(ProcessId process) const;
  // Null: it is not sampled.
  ProcessSampling* find(ProcessId process);
  // One whose children are sampled with it; null: there is none.
  const ProcessSampling* first_with_children() const;

  // What the profile says of how processes are sampled. `process`: the one that is sampled from now on, or
  // with other periods.
  void tell_notes(ProcessId process);
  void set_notes(std::vector<std::string> notes) { notes_ = std::move(notes); }
  void add_note(std::string note) { notes_.push_back(std::move(note)); }

  // Of these processes and of those that are not sampled.
  ProcessStates& states() { return states_; }
  const ProcessStates& states() const { return states_; }

 private:
  // Makes of what was asked for what can be opened. `note`: what of it cannot, "" for nothing.
  Status settle(ProcessId process, capture::CaptureOptions& options, std::string& note);
  void took(ProcessSampling& sampled, const capture::CaptureOptions& settled,
            const capture::Attached& attached);
  void tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on);
  void add_counted(const std::vector<capture::CountedTime>& times);

  const Parts parts_;
  OnOpened on_opened_;
  IsReady is_ready_;
  PebsTrust& pebs_trust_;
  OverheadControl& overhead_;
  ForeignProcesses& foreign_;
  FirstLooks& looks_;
  ProcessStates states_;
  std::vector<ProcessSampling> sampled_;
  std::uint64_t opened_ = 0;
  std::map<capture::RecordingNumber, ProcessId> replaced_;  // by a newer one, and still to end
  std::vector<std::string> notes_;                          // of what is sampled
  std::vector<capture::CountedTime> counted_;
};

}  // namespace tailor::session
