#include "daemon/capture/host/ring.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

#include "proto/base/errors.h"

namespace tailor::capture {

Result<Ring> Ring::over(std::span<std::byte> memory) {
  auto page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (memory.size() < 2 * page_size || !std::has_single_bit(memory.size() - page_size)) {
    return internal(
        fmt::format("a perf ring of {} bytes is not a page and a power of two of pages", memory.size()));
  }
  return Ring(reinterpret_cast<perf_event_mmap_page*>(memory.data()), memory.subspan(page_size));
}

std::size_t Ring::drain(std::vector<std::byte>& out) {
  // Acquire pairs with the kernel's barrier between writing records and moving the head.
  std::uint64_t head = std::atomic_ref(page_->data_head).load(std::memory_order_acquire);
  std::uint64_t tail = page_->data_tail;
  std::uint64_t size = head - tail;
  if (size == 0) return 0;
  if (size > data_.size()) {
    ++broken_;
    size = 0;
  }
  std::size_t start = tail & (data_.size() - 1);
  std::size_t first = std::min<std::size_t>(size, data_.size() - start);
  auto from = data_.begin() + static_cast<std::ptrdiff_t>(start);
  out.insert(out.end(), from, from + static_cast<std::ptrdiff_t>(first));
  out.insert(out.end(), data_.begin(), data_.begin() + static_cast<std::ptrdiff_t>(size - first));
  // The kernel may overwrite from here on: every read above is done first.
  std::atomic_ref(page_->data_tail).store(head, std::memory_order_seq_cst);
  return size;
}

}  // namespace tailor::capture
