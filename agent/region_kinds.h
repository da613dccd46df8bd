// Numbers of region kinds. A kind that outlives plans (a column) may be declared by every thread and query
// that meets it, and keeps its number; it is known by the digest of what was said about it. Lock-free;
// entries are never removed.
#pragma once

#include <tailor/agent.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace tailor::agent {

class RegionKinds {
 public:
  static constexpr std::uint32_t kRemembered = 8192;

  // The number of a kind, from 1.
  //
  // tell(number) queues the message that declares it, and says whether it is queued. Nobody gets the number
  // before: who comes while another thread is about to tell tells it as well, and waits for nobody. What was
  // not queued is told at the next call. Any thread.
  template <typename Tell>
  std::uint32_t declare(const tailor_region_kind& kind, Tell tell) noexcept {
    const Found found = find_or_add(kind);
    if (!found.told && tell(found.id)) note_told(found.id);
    return found.id;
  }

  // After a stop a daemon knows none of them: all are new again. No other call may run.
  void forget() noexcept;

 private:
  static constexpr std::uint32_t kSlots = 2 * kRemembered;
  static constexpr std::uint64_t kTold = 1;

  struct Found {
    std::uint32_t id = 0;
    bool told = false;
  };
  Found find_or_add(const tailor_region_kind& kind) noexcept;
  void note_told(std::uint32_t id) noexcept;

  // The digest of the kind with number i + 1, 0: free. Its bit kTold is no part of the digest: a message that
  // declares the kind is queued. Zero memory is a valid start: untouched slots cost nothing.
  std::array<std::atomic<std::uint64_t>, kSlots> digests_{};
  std::atomic<std::uint32_t> remembered_{0};
  std::atomic<std::uint32_t> next_{kSlots};  // numbers of those that are not remembered
};

}  // namespace tailor::agent
