// A process whose events are open, or are being closed.
#pragma once

#include <optional>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/capture/host/placement.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/session/process_states.h"
#include "daemon/session/sampling_state.h"
#include "proto/base/ids.h"

namespace tailor::session {

class ProcessSampling {
 public:
  // `states` must outlive it.
  ProcessSampling(ProcessId whose, capture::RecordingNumber number, ProcessStates& states)
      : process(whose), recording(number), states_(&states) {}

  SamplingState state() const { return states_->state(process); }
  bool is_sampling() const { return state() == SamplingState::kSampling; }

  // False: the event means nothing in its state (sampling_state.h).
  bool apply(SamplingEvent event) { return states_->apply(process, event); }
  bool reopen(TimeNs now) {
    if (!apply(SamplingEvent::kReopen)) return false;
    reopened_ = now;
    return true;
  }
  // When reopen() was called.
  TimeNs reopened() const { return reopened_; }

  ProcessId process;
  capture::RecordingNumber recording;         // of its events
  capture::CaptureOptions options = {};       // as asked for
  bool large_pebs = false;                    // as opened
  bool renews = false;                        // its periods are drawn anew by CaptureReader::renew()
  bool reads_slots = false;                   // of threads' memory, for tags
  bool user_mode_only = false;                // as opened
  std::optional<capture::BirthWatch> births;  // where the timers of threads may miss them
  bool may_move = false;                      // to one event per CPU
  Origin origin;
  TimeNs redraw = kTimeMax;  // when its periods are drawn anew by us; kTimeMax: not

 private:
  ProcessStates* states_;
  TimeNs reopened_ = kTimeMin;
};

}  // namespace tailor::session
