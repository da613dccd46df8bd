// How much memory a profile may take: in proportion to its own size, so that a small file that was made to do
// harm cannot take a machine's. What recorders write stays far below.
#pragma once

#include <google/protobuf/arena.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "proto/base/result.h"

namespace tailor::store {

// For what `read` bytes of blocks hold.
inline constexpr std::uint64_t memory_budget(std::uint64_t read) {
  constexpr std::uint64_t kBase = 64u << 20, kFactor = 64;
  return kBase + kFactor * read;
}

// Asked after each block, with the bytes of blocks that were read so far: whether to go on.
using MayGoOn = std::function<Status(std::uint64_t read)>;

// An arena that throws std::bad_alloc when messages in it would take more than `limit` bytes, long strings
// apart. One at a time in a thread.
class BoundedArena {
 public:
  explicit BoundedArena(std::uint64_t limit);
  google::protobuf::Arena* get() { return &arena_; }

 private:
  google::protobuf::Arena arena_;
};

}  // namespace tailor::store
