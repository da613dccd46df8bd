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

  struct Found {
    std::uint32_t id = 0;  // from 1
    bool is_new = false;
  };
  Found find_or_add(const tailor_region_kind& kind) noexcept;

  // After a stop a daemon knows none of them: all are new again. No other call may run.
  void forget() noexcept;

 private:
  static constexpr std::uint32_t kSlots = 2 * kRemembered;

  // The digest of the kind with number i + 1, 0: free. Zero memory is a valid start: untouched slots cost
  // nothing.
  std::array<std::atomic<std::uint64_t>, kSlots> digests_{};
  std::atomic<std::uint32_t> remembered_{0};
  std::atomic<std::uint32_t> next_{kSlots};  // numbers of those that are not remembered
};

}  // namespace tailor::agent
