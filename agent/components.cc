#include "agent/components.h"

#include <cstdlib>
#include <cstring>

namespace tailor::agent {

Components::~Components() {
  for (auto& name : names_) std::free(name.load());
}

std::uint32_t Components::find_or_add(std::string_view name) noexcept {
  char* copy = nullptr;
  std::uint32_t id = 0;
  for (std::uint32_t i = 0; i < kMax; ++i) {
    char* there = names_[i].load(std::memory_order_acquire);
    if (!there) {
      if (!copy) copy = ::strndup(name.data(), name.size());
      if (!copy) return 0;
      if (names_[i].compare_exchange_strong(there, copy, std::memory_order_acq_rel)) return i + 1;
    }
    if (name == there) {
      id = i + 1;
      break;
    }
  }
  std::free(copy);
  return id;
}

}  // namespace tailor::agent
