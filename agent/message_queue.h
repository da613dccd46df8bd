// The queue between engine threads and the sender: a bounded ring of bytes, many producers, one consumer.
//
// A producer reserves space by moving `tail` with one compare-and-swap, encodes straight into the ring and
// publishes the record with one store. It never waits, allocates or makes a system call. Records become
// visible in order of reservation, as in D. Vyukov's bounded queue; the sequence number of a cell is replaced
// by a commit word that the consumer clears, because the cells here are of different sizes.
//
//   record: commit word (8 bytes: 0 not ready, else size of the record, bit 0 set = padding), length,
//           MessageHead, bytes; padded to 16. A record never wraps: padding fills the end of the ring.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "agent/message.h"

namespace tailor::agent {

class MessageQueue {
 public:
  // The ring takes `bytes` of address space, rounded up to a power of two; memory is touched as needed.
  // Check valid() before anything else: false if there was no address space.
  explicit MessageQueue(std::size_t bytes) noexcept;
  ~MessageQueue();
  MessageQueue(const MessageQueue&) = delete;
  MessageQueue& operator=(const MessageQueue&) = delete;

  bool valid() const { return ring_ != nullptr; }
  std::size_t capacity() const { return capacity_; }

  // What ends something gets in where what begins something does not: a full queue must not lead to things
  // that live forever on the other side.
  enum class Urgency : std::uint8_t { kBegins, kEnds };

  // Larger messages are never taken; one of this size always gets into an empty queue, with the padding that
  // it may need and without the room that is kept for ends.
  std::size_t max_message_bytes() const { return capacity_ / 8 * 3; }

  // Space for one message. Any thread. Every reservation must be committed.
  class Reservation {
   public:
    std::span<char> space() const { return space_; }

   private:
    friend class MessageQueue;
    std::uint64_t offset_ = 0;
    std::size_t total_ = 0;
    std::span<char> space_;
  };
  std::optional<Reservation> reserve(std::size_t max_bytes, Urgency urgency) noexcept;
  // Any thread: whether reserve() would give that now.
  bool has_room(std::size_t max_bytes, Urgency urgency) const noexcept;
  // Publishes the first `bytes` bytes of the space.
  void commit(const Reservation& reservation, const MessageHead& head, std::size_t bytes) noexcept;
  // Publishes nothing: the space is skipped.
  void abandon(const Reservation& reservation) noexcept;

  // Consumer only. The oldest message, valid until pop(); nothing when the queue is empty or when the oldest
  // reservation is not committed yet.
  std::optional<MessageView> front() noexcept;
  // Any thread: nothing is reserved or waiting.
  bool empty() const noexcept { return head_.load() == tail_.load(); }
  // Removes the message that front() gave.
  void pop() noexcept;

  // In a forked child, once front() has nothing: what threads had reserved that do not exist here.
  void forget_uncommitted() noexcept;
  // In a forked child: gives the address space back and leaves the queue invalid.
  void drop() noexcept;

 private:
  struct Record;
  Record* at(std::uint64_t position) const noexcept;
  // Where a message would stand: its size with its head, what is skipped at the ring's end, and if it fits.
  struct Placement {
    std::size_t total;
    std::size_t skip;
    bool fits;
  };
  Placement placement(std::size_t max_bytes, Urgency urgency, std::uint64_t head,
                      std::uint64_t tail) const noexcept;
  void release(std::uint64_t position, std::size_t size) noexcept;
  void rewind_when_empty() noexcept;

  char* ring_ = nullptr;
  std::size_t capacity_ = 0;
  alignas(64) std::atomic<std::uint64_t> tail_{0};  // end of what is reserved; bytes since the start
  alignas(64) std::atomic<std::uint64_t> head_{0};  // start of what is not released
};

}  // namespace tailor::agent
