// A process whose events are open, and what becomes of it.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/capture/host/placement.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/session/process_rules.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Every state but the first lasts until the reader has handed over the last records of the process's events.
//
//   kSampling --> kReopening --> kPausing --> kLeaving
//       \-------------\--------------\----------^
enum class SamplingState : std::uint8_t {
  kSampling,   // its events are open
  kReopening,  // they are closed, and others will be opened in their place
  kPausing,    // they are closed, until somebody resumes the process
  kLeaving,    // they are closed, and the process goes on without samples
};

// Who wants that a process is sampled. It outlasts pauses.
struct Origin {
  bool on_request = false;
  bool by_rule = false;                // it has not registered
  NamesFrom names = NamesFrom::kAuto;  // of its generated code, where it has no agent
};

class ProcessSampling {
 public:
  ProcessSampling(ProcessId whose, capture::RecordingNumber number) : process(whose), recording(number) {}

  SamplingState state() const { return state_; }
  bool is_sampling() const { return state_ == SamplingState::kSampling; }

  // The transitions. Each says whether there was one: a process never goes back.
  bool reopen(TimeNs now) {
    if (!go(SamplingState::kReopening)) return false;
    reopened_ = now;
    return true;
  }
  bool pause() { return go(SamplingState::kPausing); }
  bool leave() { return go(SamplingState::kLeaving); }
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
  bool go(SamplingState next) {
    if (next <= state_) return false;
    state_ = next;
    return true;
  }

  SamplingState state_ = SamplingState::kSampling;
  TimeNs reopened_ = kTimeMin;
};

}  // namespace tailor::session
