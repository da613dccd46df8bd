// What is live in this process, encoded: what a daemon that (re)connects must be told. Owned by the sender.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "agent/message.h"

namespace tailor::agent {

class LiveSet {
 public:
  // Above `max_bytes` nothing more is kept (it is still sent): a daemon that comes later will not know it.
  explicit LiveSet(std::size_t max_bytes = std::size_t{256} * 1024 * 1024) : max_bytes_(max_bytes) {}

  struct Entry {
    MessageHead head;
    std::vector<char> bytes;
  };

  enum class Outcome : std::uint8_t {
    kKept,      // begins something that is live from now on
    kEnded,     // ended something live
    kNothing,   // ends something that is not live, or speaks of nothing that lives on
    kTooLarge,  // begins something, but the set is full
  };
  // Takes a message into account. May throw std::bad_alloc, and is then as before.
  Outcome apply(const MessageView& message);

  // Rises with every thing that begins; never used again.
  using Order = std::uint64_t;

  // Calls f(Order, const Entry&) in the order in which things began, from `first` on, until it returns false.
  template <typename F>
  bool for_each_from(Order first, F f) const {
    for (auto it = entries_.lower_bound(first); it != entries_.end(); ++it) {
      if (!f(it->first, it->second)) return false;
    }
    return true;
  }

  // Forgets everything but threads, which outlive a stop of the agent.
  void keep_threads_only();

  // Forgets everything of a kind.
  void forget(MessageKind kind) noexcept;

  // Forgets the barrier once it was acknowledged.
  void end_barrier(std::uint64_t sequence);

  std::size_t bytes() const { return bytes_; }
  std::size_t size() const { return entries_.size(); }

 private:
  using Index = std::unordered_map<std::uint64_t, Order>;

  Outcome keep(const MessageView& message);
  // The newer message counts, in the place of the older one. False: there is none.
  bool say_again(const MessageView& message);
  Outcome end(MessageKind begin, std::uint64_t key);
  void end_owned(std::uint64_t owner);
  void erase(Order order);

  std::map<Order, Entry> entries_;
  std::map<MessageKind, Index> index_;
  std::unordered_map<std::uint64_t, std::vector<Order>> owned_;
  std::size_t max_bytes_;
  Order next_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace tailor::agent
