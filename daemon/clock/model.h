// The daemon's clock: from raw TSC values to CLOCK_MONOTONIC_RAW in ns, and back, with an error bound.
//
// Sans I/O: it is fed observations and keeps a Timeline. Sources, best first: the module's page, the rate of
// the perf mmap page with read pairs for the offset, read pairs alone. Every observation carries a pair, and
// a better source that contradicts the pair is not believed (and counted), so a source that becomes invalid
// (clocksource change, suspend, migration of a VM) is left at the next observation.
//
// Changes of the line are slewed, and those backward are held, so that time never runs backward; they take
// effect kLead after the observation, so threads that work with a copy of the timeline at most kLead old
// convert alike. Not synchronised: one thread owns a Model.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "daemon/clock/calibration.h"
#include "daemon/clock/conversion.h"
#include "daemon/clock/observation.h"
#include "daemon/clock/perf_time.h"
#include "daemon/clock/timeline.h"

namespace tailor::clock {

// What went wrong so far; all 0 on a healthy host.
struct ModelCounters {
  std::uint64_t rejected_pairs = 0;       // nonsense: not used
  std::uint64_t breaks = 0;               // CLOCK_MONOTONIC_RAW left its line
  std::uint64_t tsc_resets = 0;           // the TSC ran backward
  std::uint64_t module_contradicted = 0;  // the module's page disagreed with a pair
  std::uint64_t perf_page_contradicted = 0;
  std::uint64_t bound_violations = 0;  // a line turned out wrong by more than its own bound
};

class Model {
 public:
  static constexpr std::uint64_t kLeadNs = 20'000'000;

  // Takes one observation. Returns what it appended to the timeline, for the journal: nothing in most cases.
  // A TSC reset restarts the timeline: then `restarted()` is true until the next call.
  std::vector<Conversion> observe(const Observation& seen);

  // How long to wait before the next observation: short while little is known, one second when settled.
  std::uint64_t next_observation_ns() const;

  // False until there is a conversion (two observations without a better source than pairs).
  bool ready() const { return !timeline_.empty(); }
  TimeNs to_ns(std::uint64_t tsc) const { return timeline_.to_ns(tsc); }
  std::uint64_t to_tsc(TimeNs ns) const { return timeline_.to_tsc(ns); }

  // Of the newest conversion, which is in force at the latest kLeadNs after the last observation (a
  // correction that is still being slewed may take longer). Before ready(): calibration, false, UINT64_MAX.
  Source source() const;
  bool trusted() const;
  std::uint64_t error_bound_ns() const;

  // perf's own clock, for records that carry it (perf_to_ns); nothing where the host does not say.
  const std::optional<Conversion>& perf_line() const { return perf_time_.line(); }

  bool restarted() const { return restarted_; }
  const Timeline& timeline() const { return timeline_; }
  const ModelCounters& counters() const { return counters_; }

 private:
  std::optional<Conversion> best_line(const Observation& seen);
  std::optional<Conversion> module_line(const Observation& seen);
  std::optional<Conversion> perf_page_line(const Observation& seen);
  bool worth_a_change(const Conversion& next, std::uint64_t at) const;
  std::vector<Conversion> restart(const Conversion& line, TimeNs given);
  std::vector<Conversion> change_to(const Conversion& next, std::uint64_t at);

  Calibration calibration_;
  PerfTime perf_time_;
  Timeline timeline_;
  ModelCounters counters_;
  std::uint64_t last_tsc_ = 0;
  bool restarted_ = false;
};

// The time line of a module page, beginning at its cycle_last. Nothing if its parameters make no sense. Pure.
std::optional<Conversion> line_of(const ModuleTime& module);

}  // namespace tailor::clock
