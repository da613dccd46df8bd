// What the profile says of how processes are sampled: notes of what was opened, what overhead was measured,
// and for how long hardware counters were shared.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/host/capture_reader.h"
#include "daemon/capture/host/event_counts.h"
#include "daemon/session/overhead_control.h"
#include "daemon/session/recording_facts.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Control thread only.
class SamplingNotes {
 public:
  // All must outlive this.
  SamplingNotes(RecordingFacts& facts, const OverheadControl& overhead)
      : facts_(facts), overhead_(overhead) {}

  // The events of a process were opened.
  void opened(ProcessId process, const capture::Attached& events);
  // In place of the notes that there are. `process`: the one that is sampled in another way from now on.
  void set(ProcessId process, std::vector<std::string> notes);
  void add(ProcessId process, std::string note);
  // Tells the profile. `process`: the one that has other periods.
  void tell(ProcessId process);
  // For how long the counters of a recording counted, which has ended.
  void add_counted(ProcessId process, const std::vector<capture::CountedTime>& times);

 private:
  RecordingFacts& facts_;
  const OverheadControl& overhead_;
  std::vector<std::string> notes_;
  std::vector<capture::CountedTime> counted_;
};

}  // namespace tailor::session
