// The plans of one process, found by id and by what a tag says.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "daemon/process/limits.h"
#include "daemon/process/plan_state.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::process {

// A slot and generation name one live plan at a time; a plan that is loaded into those of a live one proves
// that the old one's unloading was not heard of, and ends it. Unloaded plans stay until trim() has passed
// their end. One thread.
class PlanIndex {
 public:
  explicit PlanIndex(const Limits& limits) : limits_(limits) {}

  // Fails, with the reason, for a live plan of the same id and beyond the limits.
  Status add(PlanState plan);
  // False if no such plan is live.
  bool remove(PlanId id, TimeNs time);
  // Ends every live plan that the connection `seen` did not speak of.
  void remove_unseen(std::uint64_t seen, TimeNs time);

  // The plan that had slot and generation at `time`, else NULL. Valid until the next change. No allocation.
  const PlanState* find(std::uint32_t slot, std::uint32_t generation, TimeNs time) const {
    const PlanState* guess = std::atomic_ref(found_[slot % kFound]).load(std::memory_order_relaxed);
    const bool right = guess != nullptr && guess->slot == slot && guess->generation == generation;
    return right && guess->loaded <= time ? guess : search(slot, generation, time);
  }
  // The live plan of this number, else NULL.
  PlanState* live(PlanId id);

  // Forgets plans that were unloaded before `watermark`.
  void trim(TimeNs watermark);

  std::size_t size() const { return live_.size() + retired_.size(); }
  std::size_t live_count() const { return live_.size(); }
  // Live plans ended by one that was loaded into their slot and generation.
  std::uint64_t replaced() const { return replaced_; }

 private:
  struct Entry {
    std::uint32_t key;  // slot and generation
    TimeNs loaded;      // that of the plan
    const PlanState* plan;
  };

  static std::uint32_t key(std::uint32_t slot, std::uint32_t generation) { return slot << 4 | generation; }
  std::vector<Entry>::const_iterator after(std::uint32_t key, TimeNs time) const;
  const PlanState* search(std::uint32_t slot, std::uint32_t generation, TimeNs time) const;
  void retire(PlanId id, TimeNs time);
  void forget(std::size_t oldest);

  Limits limits_;
  std::map<PlanId, std::unique_ptr<PlanState>> live_;
  std::deque<std::unique_ptr<PlanState>> retired_;  // by end of life
  std::vector<Entry> entries_;                      // of both, by (key, load time)
  // Live ones that were found last, by slot: guesses, checked before use. Any thread may ask.
  static constexpr std::size_t kFound = 32;
  mutable std::array<const PlanState*, kFound> found_{};
  std::uint64_t replaced_ = 0;
};

}  // namespace tailor::process
