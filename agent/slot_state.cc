#include "agent/slot_state.h"

#include <atomic>

namespace tailor::agent {

namespace {

void put_word(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_relaxed);
}

}  // namespace

void say_state(tailor_slot& slot, const tailor_thread_state& state) noexcept {
  const std::uint64_t turn = std::atomic_ref(slot.state_of).load(std::memory_order_relaxed);
  tailor_thread_state& current = slot.states[turn & 1];
  if (current.execution == state.execution && current.plan == state.plan) {
    put_word(current.work, state.work);
  } else {
    tailor_thread_state& idle = slot.states[(turn + 1) & 1];
    put_word(idle.execution, state.execution);
    put_word(idle.plan, state.plan);
    put_word(idle.work, state.work);
    std::atomic_ref(slot.state_of).store(turn + 1, std::memory_order_release);
  }
  // The copy that is idle from now on must not be written before the store that made it so. The processor
  // keeps the order of stores; the compiler must, too.
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace tailor::agent
