// The one way by which running queries get memory: counted against a limit and known to the profiler.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tailor::weft {

// Numbers of tailor_region_kind_declare() for one kind of memory; 0 where no agent runs.
using RegionKind = std::uint32_t;

// Thread-safe. Everything allocated must be freed before it is destroyed.
class MemoryAccount {
 public:
  explicit MemoryAccount(std::uint64_t limit_bytes) : limit_(limit_bytes) {}
  MemoryAccount(const MemoryAccount&) = delete;
  MemoryAccount& operator=(const MemoryAccount&) = delete;

  // Memory aligned to 64 bytes, not zeroed. Throws QueryError when the limit is passed or the system has
  // none. Areas of a page or more are registered as regions of `kind`.
  void* Allocate(std::size_t bytes, RegionKind kind);
  void* AllocateZeroed(std::size_t bytes, RegionKind kind);
  // `bytes` as allocated; nullptr is ignored.
  void Free(void* memory, std::size_t bytes) noexcept;

  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void Charge(std::size_t bytes);

  std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> peak_{0};
};

}  // namespace tailor::weft
