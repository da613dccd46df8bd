// Time off the CPU: joins the sample that the kernel takes when a thread is switched away with the record of
// its return.
//
// A switch record carries no registers, and the kernel has not saved the tag registers at a switch; the
// sample of the context-switches event at the same moment has the user IP and the user call chain. So the
// sample waits until its thread comes back, and leaves then with the time it was away as its weight. It keeps
// where the thread was and gets the time of the return: the thread returns to the same place, and the order
// of events stays that of time. Its `wait` says why it was away: it was taken off the CPU though it could
// have gone on, or it blocked in kernel code that its chain names (wait_names.h).
//
// A tag in a memory slot is none of perf's registers: a BPF program tells it by a sample of the same source
// that has nothing but the slot's place among the registers, and those of the engine's own number for the
// wait and of the thread's state, right before the switch. Clocks are converted, so it may also seem to come
// right behind. A thread that could have gone on does not wait for what its engine says: it waits for a CPU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/wait_names.h"

namespace tailor::capture {

struct OffCpuCounts {
  std::uint64_t returned = 0;   // waits that became samples
  std::uint64_t cut = 0;        // waits that became samples though they were not over
  std::uint64_t abandoned = 0;  // the thread ended, or left again, without a record of its return
};

// Fed with events in their order of time. Not thread-safe; deterministic.
class OffCpuTracker {
 public:
  // Which sources' samples are those of a switch: the ones whose unit is time off CPU.
  void set_sources(const std::vector<profile::Source>& sources);

  // True: the event is the sample of a switch and is kept here for now.
  bool absorb(const Batch& batch, const Event& event) { return absorbs(event.source) && keep(batch, event); }
  // Whether samples of the source are those of switches.
  bool absorbs(std::uint16_t source) const { return source < is_switch_.size() && is_switch_[source] != 0; }

  // For a switch-out, which comes after the sample of the same switch: notes whether the thread could have
  // gone on (flag_preempted).
  void left(const Event& switch_out);

  // For a switch-in: the wait that ended, a batch of one sample, valid until the next call. NULL if the
  // thread was not seen leaving.
  Batch* returned(const Event& switch_in);

  // For a kKernelSymbol event named `name`: from now on waits in that function are known by it.
  void learn(const Event& symbol, std::string_view name) { names_.learn(symbol.address, symbol.size, name); }

  // Nothing is recorded any more of a process, or of all (kAllProcesses): the waits that its threads were in
  // by `time`, each a batch of one sample that lasts until then, by thread. Later ones stay.
  std::vector<Batch> cut(std::int32_t pid, TimeNs time);
  static constexpr std::int32_t kAllProcesses = -1;

  // For an exit record: forgets the thread.
  void ended(const Event& exit);

  std::size_t waiting() const { return waits_.size(); }
  const OffCpuCounts& counts() const { return counts_; }

 private:
  bool keep(const Batch& batch, const Event& event);
  void end(Batch& wait, TimeNs time);
  struct Slot {
    std::uint64_t tag = 0;
    std::uint32_t engine_wait = 0;
    std::optional<std::array<std::uint64_t, 3>> state = {};  // the words of kStatePlaces
  };
  static Slot slot_of(const Batch& batch, const Event& event);
  static bool is_slot(const Event& event);
  static void put_slot(Batch& wait, const Slot& slot);
  void keep_slot(std::int32_t tid, const Slot& slot);

  std::vector<std::uint8_t> is_switch_;            // by source
  std::unordered_map<std::int32_t, Batch> waits_;  // by thread
  std::unordered_map<std::int32_t, Slot> slots_;   // by thread, of switches whose sample is to come
  Batch last_;
  WaitNames names_;
  OffCpuCounts counts_;
};

}  // namespace tailor::capture
