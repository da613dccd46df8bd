// Numbers of plans: an id that is never used again, and the 16-bit slot with its generation that tags carry.
//
//   id: bits 0-15 slot, 16-19 generation, 20-62 serial number (never 0)
//
// Slots are handed out round robin, so that a slot rests as long as possible before its next generation.
#pragma once

#include <tailor/tag.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace tailor::agent {

class PlanSlots {
 public:
  // A new plan id, or 0 if every slot is taken. Lock-free.
  std::uint64_t take() noexcept;
  // Frees the slot of a plan. False if this plan has none (unloaded before, or never made).
  bool free(std::uint64_t id) noexcept;

  static std::uint32_t slot(std::uint64_t id) { return id & 0xFFFF; }
  static std::uint32_t generation(std::uint64_t id) { return (id >> 16) & 0xF; }

 private:
  static constexpr std::uint64_t kLive = std::uint64_t{1} << 63;

  // The slot's last plan id, with kLive while it is taken. Zero memory is a valid start: untouched slots cost
  // nothing.
  std::array<std::atomic<std::uint64_t>, TAILOR_TAG_PLAN_SLOTS> slots_{};
  std::atomic<std::uint64_t> serial_{0};
};

}  // namespace tailor::agent
