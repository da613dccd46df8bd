// A read-only look at an engine's arena (proto/include/tailor/thread_area.h), whose writer is not trusted and
// writes while we read. Only the layout found at the beginning is used; all reads stay within it.
#pragma once

#include <tailor/thread_area.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::registration {

struct SlotState {
  std::uint64_t tag = 0;
  std::uint32_t state = 0;  // enum tailor_area_state, or whatever the engine wrote
  std::uint32_t tid = 0;    // in the engine's pid namespace
  std::uint32_t use = 0;    // 0 while the area changes hands
};

class ArenaView {
 public:
  // Checks the header against the size of the memory. Keeps the memory for as long as the view lives.
  // `file` is what was mapped, to find out what of it was never written; without it all counts as written.
  static Result<std::shared_ptr<const ArenaView>> open(std::shared_ptr<const std::byte> memory,
                                                       std::size_t bytes, UniqueFd file = {});

  std::uint32_t area_count() const { return area_count_; }
  std::uint32_t log_capacity() const { return log_capacity_; }

  // All below: any thread; `index` < area_count().
  SlotState read_slot(std::uint32_t index) const;
  // Where the thread's tag lies, for those who read it millions of times a second. 8-byte aligned.
  const std::uint64_t* tag_address(std::uint32_t index) const;
  // Records ever written, as the engine claims.
  std::uint64_t log_head(std::uint32_t index) const;
  // Copies record number `position` (modulo the capacity). It may be torn: see LogReader. A head that is read
  // afterwards is not older than the record.
  tailor_log_record read_record(std::uint32_t index, std::uint64_t position) const;

  // Reading what was never written would give it memory, on our account; so these ask first.
  // The first area from `index` on of which something was written; area_count() if there is none.
  std::uint32_t next_written(std::uint32_t index) const;
  // Whether all of records `first` to before `last`, at most a whole log, lie in memory that was written.
  bool written(std::uint32_t index, std::uint64_t first, std::uint64_t last) const;

  // Agent-wide counters; those of the first arena count.
  std::uint64_t messages_queued() const;
  std::uint64_t messages_settled() const;
  std::uint64_t messages_dropped() const;
  // 0 of agents that do not say it.
  std::uint64_t messages_taken() const;

 private:
  ArenaView() = default;
  const std::byte* area(std::uint32_t index) const {
    return memory_.get() + sizeof(tailor_arena_header) + std::size_t{index} * area_size_;
  }
  std::uint64_t offset_of(std::uint32_t index) const {
    return sizeof(tailor_arena_header) + std::uint64_t{index} * area_size_;
  }
  const tailor_arena_header& header() const {
    return *reinterpret_cast<const tailor_arena_header*>(memory_.get());
  }

  std::shared_ptr<const std::byte> memory_;
  UniqueFd file_;
  std::uint32_t area_count_ = 0;
  std::uint32_t area_size_ = 0;
  std::uint32_t log_capacity_ = 0;
};

}  // namespace tailor::registration
