// A batch of events with the variable parts they refer to.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/capture/decode/event.h"
#include "daemon/capture/decode/register_masks.h"

namespace tailor::capture {

// Words whose room is not cleared before they are written.
template <typename T>
struct UnclearedAllocator : std::allocator<T> {
  template <typename U>
  struct rebind {
    using other = UnclearedAllocator<U>;
  };
  template <typename U>
  void construct(U* at) {
    ::new (static_cast<void*>(at)) U;
  }
  template <typename U, typename... Args>
  void construct(U* at, Args&&... args) {
    ::new (static_cast<void*>(at)) U(std::forward<Args>(args)...);
  }
};
using Words = std::vector<std::uint64_t, UnclearedAllocator<std::uint64_t>>;

// Offsets of an event are valid in its own batch only; append() rewrites them.
struct Batch {
  std::vector<Event> events;
  Words words;  // call chains, registers and whatever else an event's kind says
  std::string text;

  bool empty() const { return events.empty(); }

  // Keeps the memory for the next use.
  void clear() {
    events.clear();
    words.clear();
    text.clear();
  }

  // Kernel addresses, innermost first, where the event has them.
  std::span<const std::uint64_t> kernel_chain(const Event& event) const {
    if (event.kernel_chain_size == 0) return {};
    return {words.data() + event.chain_offset - event.kernel_chain_size, event.kernel_chain_size};
  }
  // The words an event's kind speaks of: for a sample its user call chain, innermost first.
  std::span<const std::uint64_t> chain(const Event& event) const {
    return std::span(words).subspan(event.chain_offset, event.chain_size);
  }

  std::string_view text_of(const Event& event) const {
    return std::string_view(text).substr(event.text_offset, event.text_size);
  }

  // The value of a general register by its perf number (asm/perf_regs.h); nothing if it was not sampled.
  std::optional<std::uint64_t> reg(const Event& event, unsigned perf_register) const {
    if (perf_register >= 32 || !(event.regs_mask >> perf_register & 1)) return std::nullopt;
    std::uint32_t below = event.regs_mask & ((std::uint32_t{1} << perf_register) - 1);
    return words[event.regs_offset + static_cast<unsigned>(std::popcount(below))];
  }

  // The three words of a sample's state (register_masks.h); nullptr: it has none.
  const std::uint64_t* state(const Event& event) const {
    if ((event.regs_mask & kStatePlaces) != kStatePlaces) return nullptr;
    const std::uint64_t below = event.regs_mask & (register_bit(kExecutionPlace) - 1);
    return words.data() + event.regs_offset + std::popcount(below);
  }

  // Copies an event of another batch with everything it refers to.
  void append(const Batch& from, const Event& event) {
    Event& copy = events.emplace_back(event);
    copy.chain_offset = static_cast<std::uint32_t>(words.size() + event.kernel_chain_size);
    if (event.chain_size != 0 || event.kernel_chain_size != 0) {
      for (auto part : {from.kernel_chain(event), from.chain(event)}) {
        words.insert(words.end(), part.begin(), part.end());
      }
    }
    if (event.regs_mask != 0) {
      copy.regs_offset = static_cast<std::uint32_t>(words.size());
      auto first = from.words.begin() + event.regs_offset;
      words.insert(words.end(), first, first + std::popcount(event.regs_mask));
    }
    // Also of an empty text: its old place may lie beyond this batch.
    copy.text_offset = static_cast<std::uint32_t>(text.size());
    text += from.text_of(event);
  }
};

}  // namespace tailor::capture
