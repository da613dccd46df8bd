// What event selection needs to know of the performance monitoring hardware of a host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tailor::capture {

// AMD's instruction-based sampling of operations, as /sys describes it.
struct IbsPmu {
  std::uint32_t type = 0;
  // The kernel drops samples of the other mode itself (format/swfilt); else user and kernel come together.
  bool software_filter = false;
  bool operator==(const IbsPmu&) const = default;
};

struct HostPmu {
  std::string cpu;           // "GenuineIntel 6/143", for messages
  std::string table;         // libpfm4's name of the event table ("spr"), empty: none fits
  bool counters = false;     // the kernel offers the core's counters at all
  bool hybrid = false;       // they are those of cpu_core and cpu_atom, which event selection does not take
  unsigned max_precise = 0;  // greatest precise_ip of those
  std::uint64_t load_latency_leader = 0;  // see load_latency_leader()
  std::optional<IbsPmu> ibs;
  bool operator==(const HostPmu&) const = default;
};

// libpfm4's event table for a CPU as /proc/cpuinfo numbers it; empty if there is none. Families that libpfm4
// 4.13 does not know get the table of a predecessor with the same encodings of the events used here.
std::string event_table(std::string_view vendor, unsigned family, unsigned model, unsigned stepping);

// Raw config of the event that must lead the group of MEM_TRANS_RETIRED:LOAD_LATENCY, 0: none need to. Where
// the kernel sets PMU_FL_MEM_LOADS_AUX (arch/x86/events/intel/core.c) it refuses that event alone.
std::uint64_t load_latency_leader(std::string_view vendor, unsigned family, unsigned model);

}  // namespace tailor::capture
