#include "agent/components.h"

#include <cstdlib>
#include <cstring>

namespace tailor::agent {

Components::~Components() {
  for (auto& name : names_) std::free(name.load());
}

Components::Found Components::find_or_add(std::string_view name) noexcept {
  char* copy = nullptr;
  Found found;
  for (std::uint32_t i = 0; i < kMax; ++i) {
    char* there = names_[i].load(std::memory_order_acquire);
    if (!there) {
      if (!copy) copy = ::strndup(name.data(), name.size());
      if (!copy) return {};
      if (names_[i].compare_exchange_strong(there, copy, std::memory_order_acq_rel)) return {i + 1, true};
    }
    if (name == there) {
      found.id = i + 1;
      break;
    }
  }
  std::free(copy);
  return found;
}

}  // namespace tailor::agent
