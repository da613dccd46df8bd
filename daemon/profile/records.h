// The records a profile is made of: samples, processes, executions, activity, mappings, and how it was
// recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/attribution.h"
#include "daemon/profile/source.h"
#include "proto/base/ids.h"
#include "tailor/thread_area.h"

namespace tailor::profile {

// How the data address of a sample is known. Stored: never renumber.
enum class AddressFrom : std::uint8_t {
  kNone = 0,
  kSample = 1,   // hardware or kernel said it (PEBS, IBS, page fault)
  kOperand = 2,  // computed from the instruction and the registers
};

// One frame of a call chain, by its return address; kernel code has addresses in the upper half.
struct StackFrame {
  const StackFrame* caller = nullptr;  // NULL: outermost, as far as it is known
  std::uint64_t address = 0;
};
constexpr bool is_kernel_address(std::uint64_t address) {
  return address >> 63 != 0;
}

// A sample with its raw evidence (IP, tag) and the derived attribution.
// Kinds of memory regions are numbered by the agent; from here on they say what the mappings of the process
// told of memory that it did not register (process::MemoryArea). Stored: never renumber.
inline constexpr std::uint32_t kFirstMappedRegion = 0xFFFF'FFF0;

struct SampleRecord {
  TimeNs time = 0;
  ProcessId process;
  std::int32_t tid = 0;
  std::uint32_t cpu = 0;
  std::uint16_t source = 0;
  Mode mode = Mode::kUser;
  bool has_tag = false;
  Wait wait = Wait::kNone;
  std::uint32_t engine_wait = 0;  // number in RecordingInfo::wait_names, from 1; 0: the engine says nothing
  std::uint64_t weight = 0;
  std::uint64_t ip = 0;
  std::uint64_t user_ip = 0;
  std::uint64_t tag = 0;
  std::uint64_t address = 0;  // of data
  AddressFrom address_from = AddressFrom::kNone;
  std::uint8_t skid = 0;          // kOperand: instructions between the access and `ip`
  std::uint32_t region = 0;       // kind of the region that held `address`, 0: nothing is known of it
  std::uint32_t latency = 0;      // cycles of the access, 0 unknown
  std::uint64_t data_source = 0;  // perf_mem_data_src, 0 unknown
  Attribution attribution;
  // Who called the code at `ip`: frames of the kernel, then of user code (callers of `user_ip`). NULL: no
  // call chain was taken. Valid during the call that hands the sample over.
  const StackFrame* stack = nullptr;
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
  // It was forked off `parent` then, and has what that one had mapped by then, until it executes a program;
  // {}: nothing is known.
  ProcessId parent = {};
  TimeNs forked = 0;
  std::vector<std::string> agent_notices = {};  // what its agent said of how it is used; may hold anything
  std::optional<std::uint32_t> uid = {};        // of the process when it registered; none: not known
  // The rule file that the configuration names for it (docs/rules.md), as it is there; "": none.
  std::string rules = {};
};

struct AddedRuns;  // added_runs.h
struct Blockers;   // blockers.h

struct ExecutionRecord {
  ProcessId process;
  ExecutionHandle handle = 0;
  ExecutionId id;
  PlanId plan = 0;
  TimeNs begin = 0;
  TimeNs end = kTimeMax;  // kTimeMax: still running
  TimeNs heard = 0;  // when the recorder heard of it first: the engine does not say it, as it does `begin`
  std::uint64_t rows = 0;
  bool rows_known = true;  // false: nobody said how it ended
  std::string error;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::uint32_t> uid = {};  // of the process when it registered; none: not known
  std::uint64_t wall_begin_ns = 0;        // CLOCK_REALTIME of `begin`, as it was set then; 0: not known
  bool drawn = true;      // false: a share of the executions is sampled (draw.h), and this one is not
  bool tags_off = false;  // it ran without tags, to measure what tags cost
  std::shared_ptr<const AddedRuns> added = {};    // it ended, and stands for these runs; NULL: it is one run
  std::shared_ptr<const Blockers> blockers = {};  // seen so far; NULL: nobody was seen to hold it up
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
  std::string path;  // as the process saw it, or the kernel's name: "[vdso]", "//anon"; "": nothing is there
  std::string build_id = {};  // of the file, as proto/base/file_id.h has it; "" unknown
};

// Functions of a file that samples or their callers were in, as the file had them when it ran.
struct FileNames {
  struct Function {
    std::uint64_t begin = 0, size = 0;  // in the file; of the kernel: at that address
    std::uint64_t address = 0;          // of `begin`, as the file has it
    std::string name;                   // as the linker has it
    std::string origin = {};  // the source file, where only that knows the name; of the kernel's: the module
  };
  std::string path, build_id = {};  // as in MappingRecord; kKernelPath
  std::vector<Function> functions;
  std::string file_id = {};  // without `build_id`: of the file that was read for them; "" unknown
};
inline constexpr const char* kKernelPath = "[kernel]";

// A MappingRecord of no process is of code that the kernel loaded while it ran. Its path is one of these and
// the name of the code: of a BPF program or what belongs to one, and of what the kernel made for itself.
inline constexpr const char* kBpfCode = "[bpf] ";
inline constexpr const char* kOtherKernelCode = "[kernel] ";

// A process was not sampled, because somebody asked for that.
struct Pause {
  ProcessId process;
  TimeNs from = 0;
  TimeNs to = kTimeMax;  // kTimeMax: it goes on
};

// A process was sampled at another rate than the recording's own.
struct RateSpan {
  ProcessId process;
  TimeNs from = 0;
  TimeNs to = kTimeMax;         // kTimeMax: it goes on
  std::uint64_t frequency = 0;  // samples per second of CPU time, on average
  std::string why;              // for people
};

// How the recording was made.
struct RecordingInfo {
  std::string host, kernel, cpu, daemon_version, command;
  // CLOCK_REALTIME of `start`, by the clock as it is set now: it changes where somebody sets that clock, and
  // ExecutionRecord::wall_begin_ns does not.
  std::uint64_t wall_clock_ns = 0;
  TimeNs start = 0;
  std::vector<Source> sources;
  std::string sampling_notes;  // how processes are sampled, what could not be sampled, and why
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
  // Of some of the processes no sample was taken in kernel mode; what they used there, by the kernel's
  // accounts, is in no sample and not in cpu_used_ns.
  bool kernel_not_sampled = false;
  std::uint64_t kernel_unsampled_ns = 0;
  std::vector<Pause> pauses = {};  // the newest, in the order of their begin
  // What engines call what their threads waited for, by SampleRecord::engine_wait - 1: of samples so far.
  std::vector<std::string> wait_names = {};
  std::vector<RateSpan> rates = {};  // the newest, in the order of their begin
  // Of the host: what code it runs ("x86_64"), its boot, and the kernel's build id in hexadecimal. Where the
  // kernel had its code, as the address of one of its symbols: "_text=ffffffff81000000". "" not known.
  std::string machine = {}, boot_id = {}, kernel_build_id = {}, kernel_anchor = {};
  std::uint32_t drawn_ppm = 0;  // the share of the executions that is sampled, see draw.h; 0: all

  // CLOCK_REALTIME of a time of the recording; 0 if it is not known.
  std::uint64_t wall_of(TimeNs time) const {
    return wall_clock_ns == 0 ? 0 : wall_clock_ns + static_cast<std::uint64_t>(time - start);
  }
};

}  // namespace tailor::profile
