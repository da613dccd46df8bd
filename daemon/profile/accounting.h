// Where the samples of a recording went. Everything that was received or lost is in one of these counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "daemon/profile/walk_end.h"
#include "proto/base/ids.h"

namespace tailor::profile {

// In place of a CPU: a ring of all of them.
inline constexpr std::uint32_t kEveryCpu = 0xFFFFFFFF;

// What the rings of one CPU lost.
struct CpuLosses {
  std::uint32_t cpu = 0;  // or kEveryCpu
  std::uint64_t lost_ring = 0, lost_hardware = 0, throttled = 0, gap_ns = 0;
};

// Totals of one process (or, process = {}, of what belongs to none) since the recording began; they add up:
// received = attributed + unattributed + filtered + late + counted_by_other + not_drawn; what was lost is the
// sum of what each CPU lost.
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
  // Of two events that share a source (capture/decode/part.h), samples of moments that the other one counts.
  std::uint64_t counted_by_other = 0;
  std::uint64_t executions_unknown = 0;  // attributed samples of no execution, because marks were lost
  // Of executions that are not drawn (draw.h): nothing else is kept of them. The CPU time that those of
  // timers stand for is in on_cpu_ns too.
  std::uint64_t not_drawn = 0, not_drawn_ns = 0;
  // Samples of processes whose threads keep in a slot for whom they work: those that brought it; those of
  // threads without a slot; and those whose slot could not be read. For the last two the logs say it.
  std::uint64_t slot_states = 0, slots_missing = 0, slots_unread = 0;
  // Samples that brought a piece of their stack, by how the search for their callers ended (WalkEnd).
  std::array<std::uint64_t, kWalkEnds> walks = {};
  // Of messages_rejected, code objects whose plan was not loaded.
  std::uint64_t codes_without_plan = 0;
  // Messages that agents had ready and did not send before their connection ended, or the recording. Nothing
  // of them is in `messages`. Those of an agent that connects again no longer count: it sends them then.
  std::uint64_t agent_unsent = 0;

  // The place of a CPU's losses, made if new.
  CpuLosses& of_cpu(std::uint32_t cpu);
};

// Adds the counts of `from` to those of `to`; `to.process` stays.
void add(Accounting& to, const Accounting& from);

}  // namespace tailor::profile
