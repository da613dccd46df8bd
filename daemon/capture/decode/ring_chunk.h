// What the reader of perf rings hands on, and what the journal keeps: raw record bytes, and the layout that
// is needed to decode them. Plain data: nothing here refers to the host it was recorded on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/capture/decode/agent_tag.h"
#include "daemon/capture/decode/part.h"
#include "proto/base/ids.h"

namespace tailor::capture {

using RingIndex = std::uint32_t;

// Which clock stamped the records of a ring.
enum class RecordClock : std::uint8_t {
  kMonotonicRaw = 0,  // use_clockid: the time base itself
  kPerf = 1,          // perf's own (sched_clock): to be converted before sorting
};

inline constexpr std::uint8_t kNoTagRegister = 0xFF;

// The fields of a perf_event_attr that decide how its records look, and what its samples mean.
struct EventFormat {
  std::uint16_t source = 0;  // index of its profile::Source
  std::uint64_t sample_type = 0;
  std::uint64_t read_format = 0;
  std::uint64_t branch_sample_type = 0;
  std::uint64_t regs_user = 0;
  std::uint64_t regs_intr = 0;
  bool sample_id_all = true;
  // Weight of a sample whose record carries no period.
  std::uint64_t period = 0;
  // perf register number that holds the tag, kNoTagRegister: none. Taken from the interrupt registers where
  // they are sampled (PEBS), else from the user registers.
  std::uint8_t tag_register = kNoTagRegister;
  TagFrom tag_from = TagFrom::kRegister;  // where the value in the register's place comes from
  Part part = Part::kAll;                 // which of the moments that it samples it counts
  // False: sampled on another architecture, whose numbers of registers mean nothing here.
  bool registers_known = true;
  bool operator==(const EventFormat&) const = default;
};

// PERF_EVENT_IOC_ID of an event, and which of the formats it has.
struct EventIdEntry {
  std::uint64_t id = 0;
  std::uint16_t format = 0;
  bool operator==(const EventIdEntry&) const = default;
};

// In the place of a process: the ring has no samples, but what the kernel says of its own code.
inline constexpr std::int32_t kOfKernelCode = -2;

// One ring. With a single format `ids` may be empty: every record is of that format. With several, every
// format has PERF_SAMPLE_IDENTIFIER and sample_id_all.
struct RingLayout {
  RingIndex ring = 0;
  std::uint32_t cpu = 0;  // or profile::kEveryCpu
  std::int32_t pid = 0;   // the process the ring was opened for, -1: all on this CPU; kOfKernelCode
  RecordClock clock = RecordClock::kMonotonicRaw;
  std::vector<EventFormat> formats;
  std::vector<EventIdEntry> ids;
  bool shared = false;  // a part of a ring for all processes, without samples: what was lost may be anybody's
  // Registers are for operands of instructions, and not only to unwind stacks. Of no meaning once they are.
  bool operands = false;
  bool operator==(const RingLayout&) const = default;
};

// Whole records, in the order of the ring.
struct RingChunk {
  RingIndex ring = 0;
  std::vector<std::byte> bytes;
};

// Takes what a reader reads, on the reader's thread. Calls for one ring: on_ring, then chunks; on_ring again
// when events were added (the new layout replaces the old one); on_ring_closed at last.
class ChunkSink {
 public:
  virtual ~ChunkSink() = default;
  virtual void on_ring(const RingLayout& layout) = 0;
  virtual void on_chunk(RingChunk&& chunk) = 0;
  // Every ring was read: no record older than `horizon` is expected. Never runs backward.
  virtual void on_round(TimeNs horizon) = 0;
  virtual void on_ring_closed(RingIndex ring) = 0;
};

}  // namespace tailor::capture
