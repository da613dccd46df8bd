// Keeps the cost of sampling below what the user allows: one governor per process and event source.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/select/event_spec.h"
#include "daemon/capture/select/governor.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::session {

struct OverheadOptions {
  double max_overhead = 0;  // share of the target's CPU time for all sources together; 0: as much as it takes
  std::uint64_t seed = 0;   // of the periods
  TimeNs redraw = 10'000'000'000;
};

// What one process did so far.
struct TargetProgress {
  std::uint64_t cpu_ns = 0;
  std::vector<std::uint64_t> samples;  // by source
};

// One thread; deterministic but for what the trial says.
class OverheadControl {
 public:
  // What a sample of an event costs, in ns, from this many pairs of slices (capture/sample_cost.h).
  using Trial =
      std::function<Result<double>(const capture::EventSpec&, const capture::CaptureOptions&, int pairs)>;

  OverheadControl(const OverheadOptions& options, Trial trial);

  bool enabled() const { return options_.max_overhead > 0; }

  // Measures what samples cost if that is not known yet, and gives the events of `options` their first
  // periods. Events that are counted one by one (faults, switches) keep theirs: to leave some out would not
  // be the same question. Fails if the trial does.
  Status begin(ProcessId process, TimeNs now, capture::CaptureOptions& options);

  // Processes whose periods are due to be drawn again.
  std::vector<ProcessId> due(TimeNs now) const;
  // Measures costs again by a short trial; before the draws of a round.
  void check();
  // Learns from what the process did and draws its periods anew. Returns the options to sample it with.
  const capture::CaptureOptions& draw(ProcessId process, TimeNs now, const TargetProgress& progress);
  void end(ProcessId process) { targets_.erase(process); }

  // For the profile: what a sample costs, how much that is together, how often samples are taken, the seed.
  std::string text(ProcessId process) const;

 private:
  struct Governed {
    std::size_t event;  // of options.events
    capture::OverheadGovernor governor;
  };
  struct Target {
    capture::CaptureOptions options;
    std::vector<Governed> governed;
    TargetProgress before;
    TimeNs next = 0;
  };

  void set_periods(Target& target);

  OverheadOptions options_;
  Trial trial_;
  std::uint64_t drawn_ = 0;              // seeds given out
  std::map<std::string, double> costs_;  // by event name
  std::map<std::string, std::pair<capture::EventSpec, capture::CaptureOptions>> measured_;
  std::map<ProcessId, Target> targets_;
};

}  // namespace tailor::session
