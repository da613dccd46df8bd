// The state of each process that anybody wants, or wanted, to be sampled; why it is not sampled; and how it
// goes on after a pause.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/session/process_rules.h"
#include "daemon/session/sampling_state.h"
#include "proto/base/ids.h"

namespace tailor::session {

// On whose account a process is sampled. It outlasts pauses.
struct Origin {
  bool on_request = false;
  bool by_rule = false;                // it has not registered
  NamesFrom names = NamesFrom::kAuto;  // of its generated code, where it has no agent
  std::string rules = {};              // as SampleRule
};

// How a process is sampled.
struct Sampled {
  capture::CaptureOptions options;  // as asked for
  Origin origin;
};

// One thread. It keeps nothing of a process of which there is nothing to say.
class ProcessStates {
 public:
  // kUnsampled for one that is not known.
  SamplingState state(ProcessId process) const;
  // False: the event means nothing in its state, and nothing changes.
  bool apply(ProcessId process, SamplingEvent event);
  std::vector<ProcessId> in(SamplingState state) const;
  // Of each in that state.
  void apply_to_all(SamplingState state, SamplingEvent event);
  // Its end: nothing is known of it any more.
  void forget(ProcessId process) { known_.erase(process); }

  // Why it is not sampled; "" where nothing is known.
  std::string why_not(ProcessId process) const;
  void set_why_not(ProcessId process, std::string why);
  void forget_why_not(ProcessId process) { set_why_not(process, {}); }

  // How a paused process is to go on; nothing for one that is not paused.
  void keep(ProcessId process, Sampled how);
  std::optional<Sampled> kept(ProcessId process) const;

  std::size_t size() const { return known_.size(); }

 private:
  struct Known {
    SamplingState state = SamplingState::kUnsampled;
    std::string why_not;
    std::optional<Sampled> kept;  // while it is paused
  };
  void drop_if_empty(ProcessId process);

  std::map<ProcessId, Known> known_;
};

}  // namespace tailor::session
