#include "agent/plan_slots.h"

namespace tailor::agent {

std::uint64_t PlanSlots::take() noexcept {
  std::uint64_t serial = serial_.fetch_add(1, std::memory_order_relaxed) + 1;
  for (std::uint32_t i = 0; i < TAILOR_TAG_PLAN_SLOTS; ++i) {
    std::uint64_t slot = (serial + i) % TAILOR_TAG_PLAN_SLOTS;
    std::uint64_t last = slots_[slot].load(std::memory_order_relaxed);
    if (last & kLive) continue;
    std::uint64_t next = (generation(last) + 1) & 0xF;
    std::uint64_t id = serial << 20 | next << 16 | slot;
    if (slots_[slot].compare_exchange_strong(last, id | kLive, std::memory_order_relaxed)) return id;
  }
  return 0;
}

bool PlanSlots::free(std::uint64_t id) noexcept {
  std::uint64_t expected = id | kLive;
  return slots_[slot(id)].compare_exchange_strong(expected, id, std::memory_order_relaxed);
}

}  // namespace tailor::agent
