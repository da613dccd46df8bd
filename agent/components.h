// Engine components by name: a name keeps its number. Lock-free; entries are never removed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace tailor::agent {

class Components {
 public:
  static constexpr std::uint32_t kMax = 1024;

  ~Components();

  // The number of a name, from 1; 0 if memory is short or kMax names are taken.
  //
  // tell(number) queues the message that declares it, and says whether it is queued. Nobody gets the number
  // before: who comes while another thread is about to tell tells it as well, and waits for nobody. What was
  // not queued is told at the next call. Any thread.
  template <typename Tell>
  std::uint32_t declare(std::string_view name, Tell tell) noexcept {
    const std::uint32_t id = find_or_add(name);
    if (id == 0) return 0;
    std::atomic<bool>& told = told_[id - 1];
    if (!told.load(std::memory_order_acquire) && tell(id)) told.store(true, std::memory_order_release);
    return id;
  }

  // After a stop a daemon knows none of them: calls tell(number, name) for each.
  template <typename Tell>
  void tell_all(Tell tell) noexcept {
    for (std::uint32_t i = 0; i < kMax; ++i) {
      const char* name = names_[i].load(std::memory_order_acquire);
      if (!name) return;
      told_[i].store(tell(i + 1, name), std::memory_order_release);
    }
  }

 private:
  std::uint32_t find_or_add(std::string_view name) noexcept;

  std::array<std::atomic<char*>, kMax> names_{};
  std::array<std::atomic<bool>, kMax> told_{};  // a message that declares it is queued
};

}  // namespace tailor::agent
