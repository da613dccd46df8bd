// The consumer's side of a perf ring (perf_event_open(2), "MMAP layout"): a header page, then 2^n data pages.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "proto/base/result.h"

namespace tailor::capture {

// Does not own its memory. One thread reads a ring.
class Ring {
 public:
  // `memory` is the mapping of the event: one page and a power of two of data pages.
  static Result<Ring> over(std::span<std::byte> memory);

  // Appends everything the kernel has published, as whole records (one that wraps around the end of the ring
  // comes out in one piece), and gives the room back. Returns the bytes appended.
  std::size_t drain(std::vector<std::byte>& out);

  std::size_t capacity() const { return data_.size(); }
  // How often head and tail contradicted each other; what lay between them was given up.
  std::uint64_t broken() const { return broken_; }

 private:
  Ring(perf_event_mmap_page* page, std::span<std::byte> data) : page_(page), data_(data) {}

  perf_event_mmap_page* page_;
  std::span<std::byte> data_;
  std::uint64_t broken_ = 0;
};

}  // namespace tailor::capture
