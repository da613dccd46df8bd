// An arena in plain memory, written as an engine's threads would, well or badly.
#pragma once

#include <tailor/thread_area.h>

#include <cstring>
#include <memory>
#include <vector>

#include "daemon/registration/arena_view.h"

namespace tailor::registration::testing {

class FakeArena {
 public:
  FakeArena(std::uint32_t areas, std::uint32_t log_capacity)
      : area_size_(TAILOR_AREA_LOG_OFFSET + log_capacity * TAILOR_LOG_RECORD_SIZE),
        capacity_(log_capacity),
        memory_(std::make_shared<std::vector<std::uint64_t>>(
            (sizeof(tailor_arena_header) + areas * area_size_) / sizeof(std::uint64_t))) {
    header().magic = TAILOR_ARENA_MAGIC;
    header().version = TAILOR_ARENA_VERSION;
    header().area_count = areas;
    header().area_size = area_size_;
    header().log_capacity = log_capacity;
  }

  tailor_arena_header& header() { return *reinterpret_cast<tailor_arena_header*>(memory_->data()); }
  tailor_slot& slot(std::uint32_t index = 0) { return *reinterpret_cast<tailor_slot*>(area(index)); }
  std::uint64_t& head(std::uint32_t index = 0) {
    return reinterpret_cast<tailor_log_header*>(area(index) + sizeof(tailor_slot))->head;
  }

  void append(std::uint16_t kind, std::uint32_t id, std::uint64_t a = 0, std::uint32_t index = 0) {
    tailor_log_record record{};
    record.tsc = 1000 + head(index);
    record.kind = kind;
    record.id = id;
    record.a = a;
    char* at = area(index) + TAILOR_AREA_LOG_OFFSET + (head(index) % capacity_) * TAILOR_LOG_RECORD_SIZE;
    std::memcpy(at, &record, sizeof(record));
    ++head(index);
  }
  // A thread takes the area, in the agent's order of writes.
  void begin_thread(std::uint32_t tid, std::uint32_t index = 0) {
    std::uint32_t use = ++uses_;
    append(TAILOR_LOG_THREAD_BEGIN, tid, use, index);
    slot(index).tid = tid;
    slot(index).use = use;
    slot(index).state = TAILOR_AREA_LIVE;
  }

  std::size_t bytes() const { return memory_->size() * sizeof(std::uint64_t); }
  std::shared_ptr<const std::byte> memory() const {
    return {memory_, reinterpret_cast<const std::byte*>(memory_->data())};
  }
  std::shared_ptr<const ArenaView> view() const { return *ArenaView::open(memory(), bytes()); }

 private:
  char* area(std::uint32_t index) {
    return reinterpret_cast<char*>(memory_->data()) + sizeof(tailor_arena_header) +
           std::size_t{index} * area_size_;
  }

  std::uint32_t area_size_;
  std::uint32_t capacity_;
  std::shared_ptr<std::vector<std::uint64_t>> memory_;
  std::uint32_t uses_ = 0;
};

}  // namespace tailor::registration::testing
