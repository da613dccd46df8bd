// From what the user asks for (a preset or names of events) to the events that are opened on this host.
//
// Presets: auto (PEBS and a counter beside it, else IBS, else cpu-clock), cost (precise cycles), paper (the
// events of Beischl et al., EuroSys 2021, section 6), memory, branch, cache, faults, off-cpu. Names: those of
// perf for software events, "ibs_op", and libpfm4's for the counters ("INST_RETIRED:PREC_DIST:precise=3"; the
// table of this CPU is meant unless one is named). "NAME@PERIOD" sets the period.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/capture/select/event_spec.h"
#include "daemon/capture/select/pmu.h"
#include "proto/base/result.h"

namespace tailor::capture {

struct Selection {
  std::vector<EventSpec> events;
  bool context_switches = false;
  std::vector<std::string> reasons;  // why these, one sentence a choice of ours; for the profile
};

struct Preset {
  std::string_view name, description;
};
inline constexpr std::array kPresets = {
    Preset{"auto",
           "time on CPU by the best means of this host: PEBS with a counter for the rest, else IBS, else "
           "cpu-clock"},
    Preset{"cost", "time on CPU: precise cycles"},
    Preset{"paper", "INST_RETIRED:PREC_DIST every 5000 and MEM_INST_RETIRED:ALL_LOADS every 1000"},
    Preset{"memory", "loads with data address and source, and latency where the CPU gives it"},
    Preset{"branch", "mispredicted branches"},
    Preset{"cache", "loads that missed the last-level cache, with data address"},
    Preset{"faults", "page faults with data address"},
    Preset{"off-cpu",
           "every switch away from the CPU, and time on it (auto, unless another event measures that)"},
};

// The events for `names`, each a preset or an event, at about `hz` samples a second where the period is ours
// to choose. Pure. The error names what this host lacks and what to take instead.
Result<Selection> select_events(std::span<const std::string> names, std::uint64_t hz, const HostPmu& pmu);

// Leaves out PEBS where another event counts what it cannot sample: for recordings in which every sample
// brings its stack or its call chain.
void prefer_stacks(Selection& selection);

// Whether the kernel takes this event by large PEBS: many records per interrupt
// (intel_pmu_large_pebs_flags() in arch/x86/events/intel/core.c). Pure.
bool keeps_large_pebs(const perf_event_attr& attr);

}  // namespace tailor::capture
