// What the pipeline hands to whoever keeps a profile: the store, a file, a test.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "daemon/attribute/attribution.h"
#include "daemon/capture/event.h"
#include "proto/base/ids.h"
#include "tailor/thread_area.h"
#include "tailor/v1/dictionary.pb.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::store {

using capture::Wait;

// How the data address of a sample is known. Stored: never renumber.
enum class AddressFrom : std::uint8_t {
  kNone = 0,
  kSample = 1,   // hardware or kernel said it (PEBS, IBS, page fault)
  kOperand = 2,  // computed from the instruction and the registers
};

// A sample with its raw evidence (IP, tag) and the derived attribution.
struct SampleRecord {
  TimeNs time = 0;
  ProcessId process;
  std::int32_t tid = 0;
  std::uint32_t cpu = 0;
  std::uint16_t source = 0;
  capture::Mode mode = capture::Mode::kUser;
  bool has_tag = false;
  Wait wait = Wait::kNone;
  std::uint64_t weight = 0;
  std::uint64_t ip = 0;
  std::uint64_t user_ip = 0;
  std::uint64_t tag = 0;
  std::uint64_t address = 0;  // of data
  AddressFrom address_from = AddressFrom::kNone;
  std::uint8_t skid = 0;          // kOperand: instructions between the access and `ip`
  std::uint32_t region = 0;       // kind of the region that held `address`, 0: none
  std::uint32_t latency = 0;      // cycles of the access, 0 unknown
  std::uint64_t data_source = 0;  // perf_mem_data_src, 0 unknown
  attribute::Attribution attribution;
  // Samples of the same number, 0 apart, differ in time, CPU, thread, weight, addresses of code and tag only.
  // Not every two that are alike have one. Not stored.
  std::uint64_t alike = 0;
};

struct ProcessRecord {
  ProcessId process;
  std::string comm;
  std::string engine_name, engine_version;  // empty: not registered
  std::string agent_version;
  TimeNs first_seen = 0;
  TimeNs registered = kTimeMin;  // kTimeMin: never
  std::uint64_t tag_key = 0;
  std::uint32_t tag_strategy = 0;
  std::string cgroup;  // path in the unified hierarchy; "" unknown
};

struct ExecutionRecord {
  ProcessId process;
  ExecutionHandle handle = 0;
  ExecutionId id;
  PlanId plan = 0;
  TimeNs begin = 0;
  TimeNs end = kTimeMax;  // kTimeMax: still running
  std::uint64_t rows = 0;
  std::string error;
  std::vector<std::pair<std::string, std::string>> labels;
};

// One thread's log record with its time converted.
struct ActivityRecord {
  TimeNs time = 0;
  ProcessId process;
  std::int32_t tid = 0;
  tailor_log_kind kind = TAILOR_LOG_NONE;
  std::uint32_t id = 0;
  std::uint64_t a = 0, b = 0;
};

// Executable memory of a process and the file it shows, from `time` on; addresses that an earlier mapping had
// are now this one's.
struct MappingRecord {
  ProcessId process;
  TimeNs time = 0;
  std::uint64_t begin = 0, size = 0;
  std::uint64_t file_offset = 0;  // of `begin`
  std::string path;               // as the process saw it, or the kernel's word in brackets ("[vdso]")
};

// What the rings of one CPU lost.
struct CpuLosses {
  std::uint32_t cpu = 0;  // or capture::kEveryCpu
  std::uint64_t lost_ring = 0, lost_hardware = 0, throttled = 0, gap_ns = 0;
};

// Totals of one process (or, process = {}, of what belongs to none) since the recording began; they add up:
// received = attributed + unattributed + filtered + late; what was lost is the sum of what each CPU lost.
struct Accounting {
  ProcessId process;
  std::uint64_t received = 0, attributed = 0, unattributed = 0, filtered = 0, late = 0;
  std::uint64_t lost_ring = 0, lost_hardware = 0;
  // How often the kernel stopped an event that came too often, and for how long some event of a ring stood
  // still.
  std::uint64_t throttled = 0, gap_ns = 0;
  std::uint64_t log_records = 0, log_lost = 0;
  std::uint64_t messages = 0, messages_rejected = 0, agent_dropped = 0;
  std::uint64_t on_cpu_ns = 0;       // CPU time that the received samples of timers stand for
  std::vector<CpuLosses> cpus = {};  // by CPU; none where nothing was lost
  std::uint64_t forced = 0;          // events that left the sorter early, for lack of room
  std::uint64_t undecoded = 0;       // records
  std::uint64_t cut_bytes = 0;       // of rings, behind a record with an impossible size
  std::uint64_t broken_rings = 0;    // capture::Ring::broken()
  std::uint64_t records_filtered =
      0;                              // of other processes, removed from rings; the samples are in `filtered`
  std::uint64_t waits_abandoned = 0;  // time off the CPU whose end nothing tells: no samples

  // The place of a CPU's losses, made if new.
  CpuLosses& of_cpu(std::uint32_t cpu) {
    auto at = std::lower_bound(cpus.begin(), cpus.end(), cpu,
                               [](const CpuLosses& each, std::uint32_t wanted) { return each.cpu < wanted; });
    if (at == cpus.end() || at->cpu != cpu) at = cpus.insert(at, {cpu});
    return *at;
  }
};

// How the recording was made.
struct RecordingInfo {
  std::string host, kernel, cpu, daemon_version, command;
  std::uint64_t wall_clock_ns = 0;  // CLOCK_REALTIME of `start`
  TimeNs start = 0;
  std::vector<capture::Source> sources;
  std::string capture_row;  // which way of sampling was taken, and why
  std::string clock_source;
  std::uint64_t clock_error_ns = 0;
  std::uint64_t steal_ns = 0;    // CPU time that the hypervisor gave to others since `start`, of all CPUs
  std::uint32_t cpus = 0;        // online, 0 unknown
  std::uint64_t own_cpu_ns = 0;  // CPU time of the recorder since `start`
  std::uint64_t aggregated_ns =
      0;  // samples were added up for so long, each sum has the time of its last; 0: none
  // CPU time that the sampled processes used while they were sampled, as the kernel accounts it (without that
  // in kernel mode if no sample is taken there), and what the samples of timers in it stand for; 0: not known
  std::uint64_t cpu_used_ns = 0, cpu_sampled_ns = 0;
};

// Calls come from one thread, in the order of the watermark; a plan or code object comes before the first
// sample that names it, an execution's record is given again when it changes (the last one counts).
class ProfileSink {
 public:
  virtual ~ProfileSink() = default;
  virtual void on_recording(const RecordingInfo& info) = 0;
  virtual void on_process(const ProcessRecord& process) = 0;
  virtual void on_thread(ProcessId process, std::int32_t tid, const std::string& name) = 0;
  virtual void on_component(ProcessId process, std::uint32_t id, const std::string& name) = 0;
  // For whoever names addresses; others need not listen.
  virtual void on_mapping(const MappingRecord& /*mapping*/) {}
  virtual void on_region_kind(ProcessId process, const tailor::v1::RegionKind& kind) = 0;
  virtual void on_plan(ProcessId process, TimeNs loaded, const tailor::v1::Plan& plan) = 0;
  virtual void on_code(ProcessId process, TimeNs loaded, const tailor::v1::CodeObject& code) = 0;
  virtual void on_code_unload(ProcessId process, TimeNs time, CodeId code) = 0;
  virtual void on_execution(const ExecutionRecord& execution) = 0;
  virtual void on_samples(std::span<const SampleRecord> samples) = 0;
  virtual void on_activity(std::span<const ActivityRecord> records) = 0;
  virtual void on_accounting(const Accounting& accounting) = 0;
  // Everything up to `watermark` has been given.
  virtual void on_watermark(TimeNs watermark) = 0;
};

}  // namespace tailor::store
