#include "compiler/weft/runtime/memory.h"

#include <fmt/format.h>
#include <tailor/agent.h>

#include <cstdlib>
#include <cstring>

#include "compiler/weft/runtime/query_error.h"

namespace tailor::weft {
namespace {

constexpr std::size_t kAlignment = 64;

}  // namespace

void MemoryAccount::charge(std::size_t bytes) {
  std::uint64_t used = used_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  if (used > limit_) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    fail(fmt::format("memory limit of {} MiB exceeded: {:.1f} MiB in use and {} more bytes wanted",
                     limit_ >> 20, static_cast<double>(used - bytes) / (1 << 20), bytes));
  }
  std::uint64_t peak = peak_.load(std::memory_order_relaxed);
  while (used > peak && !peak_.compare_exchange_weak(peak, used, std::memory_order_relaxed)) {
  }
}

void* MemoryAccount::allocate(std::size_t bytes, RegionKind kind, std::size_t header) {
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  charge(bytes);
  void* memory = std::aligned_alloc(kAlignment, bytes);
  if (memory == nullptr) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    fail(fmt::format("the system has no {} bytes of memory left", bytes));
  }
  if (kind != 0) tailor_region_add(kind, static_cast<std::byte*>(memory) + header, bytes - header);
  return memory;
}

void* MemoryAccount::allocate_zeroed(std::size_t bytes, RegionKind kind) {
  void* memory = allocate(bytes, kind);
  std::memset(memory, 0, bytes);
  return memory;
}

void MemoryAccount::free(void* memory, std::size_t bytes, std::size_t header) noexcept {
  if (memory == nullptr) return;
  bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  tailor_region_remove(static_cast<std::byte*>(memory) + header);
  release(bytes);
  std::free(memory);
}

}  // namespace tailor::weft
