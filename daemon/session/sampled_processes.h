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
#include "daemon/session/capture_queue.h"
#include "daemon/session/cpu_accounts.h"
#include "daemon/session/first_looks.h"
#include "daemon/session/foreign_processes.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/pebs_trust.h"
#include "daemon/session/process_sampling.h"
#include "daemon/session/process_states.h"
#include "daemon/session/sampling_notes.h"
#include "proto/base/result.h"

namespace tailor::session {

// Control thread only.
class SampledProcesses {
 public:
  // All must outlive this.
  SampledProcesses(os::Os& os, pipeline::Input& input, capture::CaptureReader& reader, CpuAccounts& cpu,
                   SamplingNotes& notes, PebsTrust& pebs_trust, OverheadControl& overhead,
                   ForeignProcesses& foreign, FirstLooks& looks)
      : os_(os),
        input_(input),
        reader_(reader),
        cpu_(cpu),
        notes_(notes),
        pebs_trust_(pebs_trust),
        overhead_(overhead),
        foreign_(foreign),
        looks_(looks) {}

  // Told of each process that open() has opened.
  using OnOpened = std::function<void(const pipeline::KnownProcess&)>;
  void set_on_opened(OnOpened on_opened) { on_opened_ = std::move(on_opened); }

  // Whether open() with these options would take no long step (bpf::Opener::is_ready). If not, what it needs
  // is being made: ask again some milliseconds later.
  using IsReady = std::function<bool(const capture::CaptureOptions&)>;
  void set_is_ready(IsReady is_ready) { is_ready_ = std::move(is_ready); }
  bool may_open(const capture::CaptureOptions& options);

  // Samples a process from now on. `note`: for the profile, "" for none. Fails with the blocker and the
  // remedy. A look at what it had mapped before is begun.
  Status open(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
              const Origin& origin, const std::string& note = {});
  // The same by its number and name of now.
  Status open_running(ProcessId process, const capture::CaptureOptions& options, const Origin& origin);
  // Other events take the place of those that are open, which stay if that fails; `options` are settled.
  Result<capture::Attached> replace(ProcessSampling& sampled, const capture::CaptureOptions& options);
  // The same with options as they are asked for, which hold from now on.
  Status change(ProcessSampling& sampled, const capture::CaptureOptions& options);
  // The events are closed. ended() follows.
  void close(const ProcessSampling& sampled) { reader_.remove(sampled.recording); }
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

  // Of these processes and of those that are not sampled.
  ProcessStates& states() { return states_; }
  const ProcessStates& states() const { return states_; }

 private:
  // Makes of what was asked for what can be opened. `note`: what of it cannot, "" for nothing.
  Status settle(ProcessId process, capture::CaptureOptions& options, std::string& note);
  void took(ProcessSampling& sampled, const capture::CaptureOptions& settled,
            const capture::Attached& attached);
  void tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on);

  os::Os& os_;
  pipeline::Input& input_;
  capture::CaptureReader& reader_;
  CpuAccounts& cpu_;
  SamplingNotes& notes_;
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
};

}  // namespace tailor::session
