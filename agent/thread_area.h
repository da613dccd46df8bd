// Thread areas (proto/include/tailor/thread_area.h): the slots and logs of this process's threads, and the
// arenas they lie in. Claiming and giving back is lock-free and may be done by any thread.
#pragma once

#include <tailor/thread_area.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/descriptor.h"
#include "agent/open_marks.h"

namespace tailor::agent {

// One thread's view of its area. Everything but `busy` belongs to the thread that has claimed it.
struct alignas(64) ThreadArea {
  tailor_slot* slot = nullptr;
  tailor_log_header* log = nullptr;
  tailor_log_record* records = nullptr;
  std::uint64_t head = 0;  // what log->head will be, without reading shared memory
  std::uint64_t mask = 0;
  std::uint32_t arena = 0;
  std::uint32_t index = 0;
  std::uint32_t use = 0;
  OpenMarks marks;  // of the thread; its slot says what they add up to
  std::atomic<bool> busy{false};
};

// Appends a record: a time stamp, four stores and the new head. Wait-free.
void append_record(ThreadArea& area, std::uint16_t kind, std::uint32_t id, std::uint64_t a,
                   std::uint64_t b) noexcept;

// A memfd that cannot change its size, mapped here for writing; the daemon gets the descriptor.
class Arena {
 public:
  static constexpr std::uint32_t kAreas = 64;
  static constexpr std::uint32_t kLeastLogRecords = 64;

  // nullptr if the kernel gives no memory, address space or descriptor; errno says why. Where the host has
  // limited the size of files, logs are shorter than asked for, then areas fewer; EFBIG if not even one fits.
  static Arena* create(std::uint32_t index, std::uint32_t log_capacity) noexcept;
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // A free area of this arena, now LIVE with the thread's tid, or nullptr.
  ThreadArea* claim(std::uint32_t tid) noexcept;
  static void give_back(ThreadArea& area) noexcept;
  // The area's next use is the thread's: its first record, then the slot.
  static void begin_use(ThreadArea& area, std::uint32_t tid) noexcept;

  tailor_arena_header* header() const { return static_cast<tailor_arena_header*>(memory_); }
  // -1 if the host has closed it.
  int fd() const noexcept { return fd_.checked(); }
  std::size_t bytes() const { return bytes_; }
  std::uint32_t area_count() const { return area_count_; }
  ThreadArea& area(std::uint32_t i) { return areas_[i]; }

  // In a forked child: the memory becomes private, at the same address, because generated code may still
  // write to a slot in it; the descriptor is closed.
  void make_private_after_fork() noexcept;
  // In a forked child that goes on: a new memfd takes the place of the parent's, at the same address, with
  // empty logs. `mine`, an area of this or another arena, stays its thread's. False if the kernel gives none:
  // then the memory is private.
  bool renew_after_fork(const ThreadArea* mine) noexcept;

 private:
  Arena() = default;
  // Chooses the sizes that the limit of files allows; false: none.
  bool fit(std::uint32_t log_capacity) noexcept;
  // A sealed memfd of `bytes_`, mapped at `where` (nullptr: anywhere), and the header in it.
  bool map(void* where) noexcept;

  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint32_t log_capacity_ = 0;
  std::uint32_t area_count_ = 0;
  Descriptor fd_;
  std::atomic<std::uint32_t> hint_{0};
  ThreadArea areas_[kAreas];
};

class ArenaSet {
 public:
  static constexpr std::uint32_t kMaxArenas = 256;

  explicit ArenaSet(std::uint32_t log_capacity) : log_capacity_(log_capacity) {}
  ~ArenaSet();
  ArenaSet(const ArenaSet&) = delete;
  ArenaSet& operator=(const ArenaSet&) = delete;

  // Makes the first arena. False: see Arena::create.
  bool start() noexcept { return grow(0) != nullptr; }

  // An area for a thread, in a new arena if all are taken; nullptr when that fails.
  ThreadArea* claim(std::uint32_t tid) noexcept;

  Arena* at(std::uint32_t index) const { return arenas_[index].load(std::memory_order_acquire); }
  tailor_arena_header* header() const { return at(0)->header(); }
  // Records ever written to all logs.
  std::uint64_t log_records() const noexcept;
  void make_private_after_fork() noexcept;
  bool renew_after_fork(const ThreadArea* mine) noexcept;

 private:
  Arena* grow(std::uint32_t index) noexcept;

  std::uint32_t log_capacity_;
  std::atomic<Arena*> arenas_[kMaxArenas] = {};
};

}  // namespace tailor::agent
