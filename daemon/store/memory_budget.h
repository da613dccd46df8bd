// How much memory a profile may take: in proportion to its own size, so that a small file that was made to do
// harm cannot take a machine's. A reader refuses or leaves out what takes more. A writer keeps to the same
// budget, so that what it writes can be read.
#pragma once

#include <google/protobuf/arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "daemon/profile/records.h"
#include "proto/base/result.h"

namespace tailor::store {

// What this number of bytes of blocks pays for.
inline constexpr std::uint64_t memory_paid(std::uint64_t bytes) {
  constexpr std::uint64_t kFactor = 64;
  return kFactor * bytes;
}

// For what `read` bytes of blocks hold. A reader has the base once, of however many files these are.
inline constexpr std::uint64_t memory_budget(std::uint64_t read) {
  constexpr std::uint64_t kBase = 64u << 20;
  return kBase + memory_paid(read);
}

// Names of functions have half as much for themselves.
inline constexpr std::uint64_t names_budget(std::uint64_t read) {
  return memory_budget(read) / 2;
}

// What a reader keeps of these, about.
std::uint64_t memory_of(const profile::FileNames& names);

// How many functions count as left out without these. A file that had no names counts as one: some code of it
// was hit, and nothing says any more why that has no name.
std::uint64_t functions_left_out_with(const profile::FileNames& names);

// Which of the names that it is given a profile holds. A reader that gets what a writer held, in the same
// order, holds all of it too: at least as many bytes come before each of them.
class NamesRoom {
 public:
  // Whether names that take so much memory are held, where `before` bytes of blocks come before them. If so,
  // they count.
  bool take(std::uint64_t bytes, std::uint64_t before) {
    const std::uint64_t all = names_budget(before);
    if (bytes > all - std::min(all, taken_)) return false;
    taken_ += bytes;
    return true;
  }

 private:
  std::uint64_t taken_ = 0;
};

// Asked after each block, with the bytes of blocks that were read so far: whether to go on.
using MayGoOn = std::function<Status(std::uint64_t read)>;

// An arena that throws std::bad_alloc when messages in it would take more than `limit` bytes, long strings
// apart. Of several in a thread, the last one that was made is used, until it is gone.
class BoundedArena {
 public:
  explicit BoundedArena(std::uint64_t limit);
  ~BoundedArena();
  BoundedArena(const BoundedArena&) = delete;
  BoundedArena& operator=(const BoundedArena&) = delete;
  google::protobuf::Arena* get() { return &arena_; }

 private:
  std::uint64_t left_of_other_;  // of the one before it
  google::protobuf::Arena arena_;
};

}  // namespace tailor::store
