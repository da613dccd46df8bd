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

  struct Found {
    std::uint32_t id = 0;  // from 1; 0 if memory is short or kMax names are taken
    bool is_new = false;
  };
  Found find_or_add(std::string_view name) noexcept;

  // The name of a component, nullptr from the first unused number on.
  const char* name(std::uint32_t id) const { return names_[id - 1].load(std::memory_order_acquire); }

 private:
  std::array<std::atomic<char*>, kMax> names_{};
};

}  // namespace tailor::agent
