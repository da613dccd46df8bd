// What capture gives to the rest of the daemon: typed, validated, time-ordered events. It knows no queries.
#pragma once

#include <cstdint>

#include "daemon/capture/decode/part.h"
#include "daemon/profile/source.h"
#include "proto/base/ids.h"

namespace tailor::capture {

enum class Kind : std::uint8_t {
  kSample,
  kMmap,  // text: file name; address, size, page_offset; words: id of the file, data_source: its bytes,
          // kContentIdBit
  kComm,  // text: the new name; flag_exec
  kFork,  // pid, tid are the child's; parent_pid, parent_tid
  kExit,
  kSwitchOut,     // flag_preempted: it was still runnable. CPU-wide: parent_pid, parent_tid come next
  kSwitchIn,      // CPU-wide: parent_pid, parent_tid ran before
  kLost,          // `weight` records lost in a ring of `cpu`
  kLostSamples,   // `weight` samples lost in hardware
  kThrottle,      // the kernel stopped an event that came too often; data_source: which one (its stream id)
  kUnthrottle,    // it goes on
  kCounts,        // values of counters read by the kernel; words: as PERF_RECORD_READ has them
  kAux,           // bytes arrived in an AUX area; address: offset, size; data_source: flags
  kTraceStart,    // instruction tracing began for pid, tid
  kNamespaces,    // words: pairs of device and inode, in the order of perf_event.h
  kKernelSymbol,  // text: name; address, size; flag_exec: it was unloaded; data_source: its type
  kBpfProgram,    // address: program id; data_source: type (1 load, 2 unload); text: 8 bytes of tag
  kCgroup,        // text: path; address: cgroup id
  kTextPoke,      // address; size: old length; page_offset: new length; text: old bytes, new bytes
  kHardwareId,    // data_source: the id hardware uses for the event
  kNotDrawn,  // `weight` samples were not kept, of executions that are not drawn; size: their ns on the CPU
};

// In the data_source of Kind::kMmap: the id is no build id (proto/base/file_id.h).
inline constexpr std::uint64_t kContentIdBit = 256;

// One event. Trivially copyable; variable parts (call chains, texts) lie in the batch that owns the event.
struct Event {
  TimeNs time = 0;
  Kind kind = Kind::kSample;
  profile::Mode mode = profile::Mode::kUser;
  std::uint16_t source = 0;  // index of its profile::Source
  std::uint32_t cpu = 0;
  std::int32_t pid = 0;  // in the daemon's pid namespace
  std::int32_t tid = 0;
  std::uint64_t weight = 0;  // in the source's unit: the period this sample stands for
  std::uint64_t ip = 0;
  std::uint64_t user_ip = 0;  // where user code was, also for kernel-mode samples; 0 unknown
  std::uint64_t tag = 0;      // the tag register as sampled, unchecked; 0 also when not available
  std::uint8_t tag_from = 0;  // a TagFrom
  Part part = Part::kAll;     // which moments the samples of its event count
  std::uint8_t walk_end = 0;  // 1 + a profile::WalkEnd; 0: it brought no stack whose callers were looked for
  bool has_tag = false;       // false: the register was not captured or is hidden (kernel mode)
  bool flag_exec = false;
  bool flag_preempted = false;
  bool flag_executable = false;  // of a mapping, as the three that follow
  bool flag_writable = false;
  bool flag_readable = false;
  bool flag_shared = false;
  bool has_address = false;
  std::uint8_t kernel_chain_size =
      0;                           // of a switch: kernel code that was running, right before the user chain
  std::uint16_t chain_size = 0;    // user call chain, innermost first, without the IP itself
  std::uint32_t chain_offset = 0;  // into Batch::words
  std::uint32_t text_offset = 0;   // into Batch::text
  std::uint32_t text_size = 0;
  std::uint64_t address = 0;  // data address of a sample; start of a mapping
  std::uint64_t size = 0;     // of a mapping
  std::uint64_t page_offset = 0;
  std::uint64_t data_source = 0;  // perf_mem_data_src, 0 unknown
  std::int32_t parent_pid = 0;
  std::int32_t parent_tid = 0;
  std::uint32_t regs_mask = 0;    // general registers of the sample, a bit per perf register number
  std::uint32_t regs_offset = 0;  // into Batch::words: their values in the order of the bits
  std::uint32_t latency = 0;      // cycles of the sampled access, 0 unknown
  profile::Wait wait = profile::Wait::kNone;  // of time off the CPU
  std::uint32_t engine_wait = 0;              // the engine's own number for it, 0 unknown
};

}  // namespace tailor::capture
