// An event source as it is asked for, and the perf_event_attr that is opened for it.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/decode/event.h"
#include "daemon/capture/decode/ring_chunk.h"

namespace tailor::capture {

// How the hardware or kernel takes the sample: decides which fields can be had together (docs of the decision
// table: docs/capture.md).
enum class Mechanism : std::uint8_t {
  kTimer,     // cpu-clock, task-clock: an interrupt of the kernel's timer
  kPebs,      // Intel: a record of the hardware, many per interrupt
  kIbs,       // AMD: address precise, registers those of the interrupt
  kCounter,   // any other counter overflow: the IP skids
  kSoftware,  // page faults and other events the kernel counts itself
};

struct EventSpec {
  std::string name;
  Mechanism mechanism = Mechanism::kTimer;
  profile::Unit unit = profile::Unit::kNsOnCpu;
  std::uint64_t period = 0;  // in the unit
  std::uint32_t type = PERF_TYPE_SOFTWARE;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  unsigned precise_ip = 0;
  std::uint64_t auxiliary = 0;  // raw config of the event that must lead its group, 0: it needs none
  bool address = false;         // data address, source and latency of the access
  bool callchain = false;       // needs the user call chain, whatever the options say
  Part part = Part::kAll;       // it shares its source with the event of the other part
  bool operator==(const EventSpec&) const = default;
};

// Every switch away from the CPU with the user call chain; OffCpuTracker makes times of them.
EventSpec off_cpu();

// Samples of time on CPU, about `hz` a second: the period is the prime next to it, so that it does not beat
// with loops of the target.
EventSpec cpu_clock(std::uint64_t hz);

// The greatest prime not above `n`, at least 2.
std::uint64_t prime_at_most(std::uint64_t n);
// The least prime not below `n`.
std::uint64_t prime_at_least(std::uint64_t n);

enum class Placement : std::uint8_t {
  kAuto,  // as choose_placement() says; per thread where a CPU's events are denied
  kPerThread,
  kPerCpu,
};

// Who takes the samples.
enum class SampledBy : std::uint8_t {
  kAuto,  // BPF where it sees more than perf and the kernel permits it, else perf; a note says why
  kPerf,  // the kernel writes perf records
  kBpf,   // a BPF program at the perf events: it sees the saved registers of kernel-mode samples
};

// As they are asked for on a command line.
inline const std::map<std::string, SampledBy> kSampledByNames = {
    {"auto", SampledBy::kAuto}, {"bpf", SampledBy::kBpf}, {"perf", SampledBy::kPerf}};

// Which samples bring a piece of the user stack, to be unwound by call frame information (daemon/unwind).
enum class Stacks : std::uint8_t {
  kNone,
  kAdaptive,  // those of unknown code without a valid tag: only BPF can tell
  kAlways,
};
inline const std::map<std::string, Stacks> kStacksNames = {
    {"none", Stacks::kNone}, {"adaptive", Stacks::kAdaptive}, {"always", Stacks::kAlways}};
inline constexpr std::uint32_t kStackBytes = 4096;            // of one sample
inline constexpr std::uint32_t kCallchainStackBytes = 16384;  // of one whose whole call chain is wanted

struct CaptureOptions {
  SampledBy sampled_by = SampledBy::kAuto;
  Placement placement = Placement::kAuto;  // of the events of a process
  std::vector<EventSpec> events;           // at least one
  std::uint16_t first_source = 0;          // index of the first event's profile::Source
  // The source of the event of Part::kRest, where another recording has it.
  std::optional<std::uint16_t> rest_source;
  std::vector<std::string> reasons;  // why these events: they become the first notes of the recording
  bool enable_on_exec = false;       // nothing is recorded before the process executes a program
  bool perf_part = false;            // only what perf takes: for Recording::renew()
  bool start_disabled = false;       // nothing is recorded before set_enabled()
  bool follow_children = false;      // forked processes too, not only threads
  std::vector<pid_t> followed;       // with follow_children: processes that are there already
  bool callchain = false;            // user call chains by frame pointers
  std::uint16_t max_stack = 32;
  Stacks stacks = Stacks::kNone;
  TimeNs aggregate = 0;  // samples are added up in the kernel for so long, 0: one record each; BPF only
  bool context_switches = false;
  bool kernel_code = false;  // nothing but what the kernel says of code that it loads, see kernel_watch.h
  bool exclude_kernel = false;
  bool jitter = true;  // false: every event has exactly the period of its spec (jitter.h)
  bool large_pebs =
      true;  // false: an interrupt per sample, for kernels whose PEBS times are those of the drain
  bool all_registers = false;  // for operand decoding; else the IP and the two possible tag registers
  std::uint8_t tag_register = kNoTagRegister;
  // The number of executions sampled of each million (profile/draw.h), 0: all. Samples of others may be
  // dropped where they are taken.
  std::uint32_t drawn_ppm = 0;
  std::size_t ring_bytes = std::size_t{512} << 10;  // per CPU; a power of two, at least a page
};

// What the samples of an event are listed as. The two parts of one source have the same.
profile::Source source_of(const EventSpec& spec, std::uint16_t index);

// Counts nothing: an event that only carries the records of tasks and mappings, in our own clock, for
// recordings whose samples are stamped by another.
EventSpec sideband_only();
bool is_sideband_only(const EventSpec& spec);

// Whether samples have, or get, data addresses: then all mappings of a process are of interest.
bool wants_memory_map(const CaptureOptions& options);

// The attributes of the event for `spec`. `sideband`: it also carries the records of tasks, mappings and
// switches; one event of a recording does. `process`: for one process (inherited by its threads), else for a
// CPU.
perf_event_attr make_attr(const EventSpec& spec, bool sideband, const CaptureOptions& options, bool process);

// Those of the event of `config` that leads the group of an event with `attr`.
perf_event_attr leader_of(const perf_event_attr& attr, std::uint64_t config);

// What decoding needs to know of an opened event.
EventFormat format_of(const perf_event_attr& attr, const EventSpec& spec, std::uint16_t source,
                      std::uint8_t tag_register);

}  // namespace tailor::capture
