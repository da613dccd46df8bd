// Call chains of many samples as one tree, from the outermost frames to the innermost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "daemon/profile/sink.h"

namespace tailor::store {

// Longer chains lose their outermost frames.
inline constexpr std::size_t kMostStackFrames = 512;

// Keeps each distinct frame (its caller and its address) once, and numbers them from 1 as they come, callers
// first. Frames stay where they are until clear(). One thread.
class StackTable {
 public:
  // The same chain in this table; NULL for NULL.
  const profile::StackFrame* intern(const profile::StackFrame* stack) {
    if (stack == nullptr) return nullptr;
    if (stack == last_) return last_kept_;
    const profile::StackFrame* chain[kMostStackFrames];
    std::size_t depth = 0;
    for (const profile::StackFrame* at = stack; at != nullptr && depth < kMostStackFrames; at = at->caller)
      chain[depth++] = at;
    std::uint32_t number = 0;
    while (depth > 0) number = add(number, chain[--depth]->address);
    last_ = stack;
    return last_kept_ = &frames_[number - 1].frame;
  }
  // Of a frame of this table; 0 for NULL.
  std::uint32_t number(const profile::StackFrame* frame) const {
    return frame == nullptr ? 0 : reinterpret_cast<const Numbered*>(frame)->number;
  }
  std::size_t size() const { return frames_.size(); }
  const profile::StackFrame& at(std::size_t index) const { return frames_[index].frame; }

  void clear() {
    frames_.clear();
    known_.clear();
    last_ = last_kept_ = nullptr;
  }
  // The chain that was interned last may have gone, and another one lie in its place.
  void forget_last() { last_ = last_kept_ = nullptr; }

 private:
  struct Numbered {
    profile::StackFrame frame;
    std::uint32_t number = 0;
  };
  struct Key {
    std::uint32_t caller;
    std::uint64_t address;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t mixed = (key.address ^ std::uint64_t{key.caller} << 40) * 0x9E3779B97F4A7C15;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };

  std::uint32_t add(std::uint32_t caller, std::uint64_t address) {
    const auto [known, fresh] = known_.try_emplace({caller, address}, 0);
    if (!fresh) return known->second;
    const profile::StackFrame* of = caller == 0 ? nullptr : &frames_[caller - 1].frame;
    known->second = static_cast<std::uint32_t>(frames_.size() + 1);
    frames_.push_back({{of, address}, known->second});
    return known->second;
  }

  std::deque<Numbered> frames_;
  std::unordered_map<Key, std::uint32_t, Hash> known_;
  const profile::StackFrame* last_ = nullptr;
  const profile::StackFrame* last_kept_ = nullptr;
};

}  // namespace tailor::store
