#include "agent/message_queue.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tailor::agent {

namespace {

constexpr std::size_t kMinCapacity = 64 * 1024;
constexpr std::size_t kAlignment = 16;
constexpr std::uint64_t kPadding = 1;
// Above this a released record is given back to the kernel, which also clears it.
constexpr std::size_t kGiveBackBytes = 128 * 1024;
// An empty queue starts again at the front once it has used this much: the ring's hot part stays small.
constexpr std::size_t kRewindBytes = 1024 * 1024;
constexpr std::size_t kPage = 4096;

}  // namespace

struct MessageQueue::Record {
  std::uint64_t commit;
  std::uint64_t bytes;
  MessageHead head;
  char* data() { return reinterpret_cast<char*>(this + 1); }
};

MessageQueue::MessageQueue(std::size_t bytes) noexcept {
  // Where address space is limited, a smaller ring is better than none.
  for (std::size_t capacity = std::bit_ceil(std::max(bytes, kMinCapacity)); capacity >= kMinCapacity;
       capacity /= 2) {
    void* ring =
        ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (ring == MAP_FAILED) continue;
    ring_ = static_cast<char*>(ring);
    capacity_ = capacity;
    return;
  }
}

MessageQueue::~MessageQueue() {
  drop();
}

void MessageQueue::drop() noexcept {
  if (ring_) ::munmap(ring_, capacity_);
  ring_ = nullptr;
}

MessageQueue::Record* MessageQueue::at(std::uint64_t position) const noexcept {
  return reinterpret_cast<Record*>(ring_ + (position & (capacity_ - 1)));
}

MessageQueue::Placement MessageQueue::placement(std::size_t max_bytes, Urgency urgency, std::uint64_t head,
                                                std::uint64_t tail) const noexcept {
  const std::size_t total = (sizeof(Record) + max_bytes + kAlignment - 1) & ~(kAlignment - 1);
  const std::size_t limit = urgency == Urgency::kEnds ? capacity_ : capacity_ - capacity_ / 8;
  const std::size_t room = capacity_ - (tail & (capacity_ - 1));
  const std::size_t skip = room < total ? room : 0;
  return {total, skip, tail + skip + total - head <= limit};
}

std::optional<MessageQueue::Reservation> MessageQueue::reserve(std::size_t max_bytes,
                                                               Urgency urgency) noexcept {
  if (max_bytes > max_message_bytes()) return std::nullopt;
  while (true) {
    // `head` first: an old head makes the ring look fuller than it is, never emptier.
    std::uint64_t head = head_.load(std::memory_order_acquire);
    std::uint64_t tail = tail_.load(std::memory_order_relaxed);
    const auto [total, skip, fits] = placement(max_bytes, urgency, head, tail);
    if (!fits) {
      if (head == head_.load(std::memory_order_acquire)) return std::nullopt;
      continue;
    }
    if (!tail_.compare_exchange_weak(tail, tail + skip + total, std::memory_order_relaxed)) continue;
    if (skip) {
      std::atomic_ref(at(tail)->commit).store(skip | kPadding, std::memory_order_release);
    }
    Reservation reservation;
    reservation.offset_ = tail + skip;
    reservation.total_ = total;
    reservation.space_ = {at(tail + skip)->data(), max_bytes};
    return reservation;
  }
}

bool MessageQueue::has_room(std::size_t max_bytes, Urgency urgency) const noexcept {
  const std::uint64_t head = head_.load(std::memory_order_acquire);
  return placement(max_bytes, urgency, head, tail_.load(std::memory_order_relaxed)).fits;
}

void MessageQueue::commit(const Reservation& reservation, const MessageHead& head,
                          std::size_t bytes) noexcept {
  Record* record = at(reservation.offset_);
  record->head = head;
  record->bytes = bytes;
  // Sequentially consistent, as is the look into the queue before the sender goes to sleep.
  std::atomic_ref(record->commit).store(reservation.total_);
}

void MessageQueue::abandon(const Reservation& reservation) noexcept {
  std::atomic_ref(at(reservation.offset_)->commit).store(reservation.total_ | kPadding);
}

std::optional<MessageView> MessageQueue::front() noexcept {
  while (true) {
    std::uint64_t head = head_.load(std::memory_order_relaxed);
    Record* record = at(head);
    std::uint64_t commit = std::atomic_ref(record->commit).load();
    if (commit == 0) {
      rewind_when_empty();
      return std::nullopt;
    }
    if ((commit & kPadding) == 0) {
      return MessageView{record->head, {record->data(), static_cast<std::size_t>(record->bytes)}};
    }
    release(head, commit & ~kPadding);
  }
}

void MessageQueue::pop() noexcept {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  release(head, std::atomic_ref(at(head)->commit).load(std::memory_order_relaxed));
}

// Clears the record, so that no old byte can be taken for a commit word, and hands its space to producers.
void MessageQueue::release(std::uint64_t position, std::size_t size) noexcept {
  char* begin = ring_ + (position & (capacity_ - 1));
  char* end = begin + size;
  if (size >= kGiveBackBytes) {
    auto page = [](char* p) { return reinterpret_cast<std::uintptr_t>(p) & (kPage - 1); };
    char* inner_begin = begin + (kPage - page(begin)) % kPage;
    char* inner_end = end - page(end);
    if (::madvise(inner_begin, static_cast<std::size_t>(inner_end - inner_begin), MADV_DONTNEED) == 0) {
      std::memset(begin, 0, static_cast<std::size_t>(inner_begin - begin));
      begin = inner_end;
    }
  }
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  head_.store(position + size, std::memory_order_release);
}

void MessageQueue::forget_uncommitted() noexcept {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  std::uint64_t tail = tail_.load(std::memory_order_relaxed);
  for (std::uint64_t at = head; at != tail;) {
    std::size_t size = std::min(tail - at, capacity_ - (at & (capacity_ - 1)));
    release(at, size);
    at += size;
  }
}

void MessageQueue::rewind_when_empty() noexcept {
  std::uint64_t head = head_.load(std::memory_order_relaxed);
  std::size_t used = head & (capacity_ - 1);
  if (used < kRewindBytes) return;
  // The consumer reserves the rest of the ring for itself; it holds only cleared bytes.
  std::uint64_t expected = head;
  std::uint64_t next = head + (capacity_ - used);
  if (tail_.compare_exchange_strong(expected, next, std::memory_order_relaxed)) {
    head_.store(next, std::memory_order_release);
  }
}

}  // namespace tailor::agent
