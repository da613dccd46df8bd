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
  // none. The area is registered as a region of `kind`; elements begin after `header` bytes.
  void* allocate(std::size_t bytes, RegionKind kind, std::size_t header = 0);
  void* allocate_zeroed(std::size_t bytes, RegionKind kind);
  // `bytes` and `header` as allocated; nullptr is ignored.
  void free(void* memory, std::size_t bytes, std::size_t header = 0) noexcept;

  // Counts memory that is had otherwise. Throws QueryError as allocate() does.
  void charge(std::size_t bytes);
  void release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  std::uint64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
  std::atomic<std::uint64_t> peak_{0};
};

// For containers: their memory from an account.
template <typename T>
class AccountedAllocator {
 public:
  using value_type = T;
  AccountedAllocator(MemoryAccount& account, RegionKind kind) : account_(&account), kind_(kind) {}
  template <typename U>
  AccountedAllocator(const AccountedAllocator<U>& other) : account_(other.account_), kind_(other.kind_) {}

  T* allocate(std::size_t count) { return static_cast<T*>(account_->allocate(count * sizeof(T), kind_)); }
  void deallocate(T* memory, std::size_t count) noexcept { account_->free(memory, count * sizeof(T)); }
  template <typename U>
  bool operator==(const AccountedAllocator<U>& other) const {
    return account_ == other.account_ && kind_ == other.kind_;
  }

 private:
  template <typename U>
  friend class AccountedAllocator;
  MemoryAccount* account_;
  RegionKind kind_;
};

}  // namespace tailor::weft
