// How much of a store the names of functions may be, and how much of that is each user's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>

namespace tailor::session {

// A sixteenth of what the store keeps, at least 16 MiB. `keep_bytes` 0: for ever, so nothing bounds it.
constexpr std::uint64_t names_budget(std::uint64_t keep_bytes) {
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
  return keep_bytes == 0 ? UINT64_MAX : std::max(kLeast, keep_bytes / 16);
}

// Counts what the data segments that are kept hold. One thread.
class NamesBudget {
 public:
  explicit NamesBudget(std::uint64_t most) : most_(most) {}
  void set_most(std::uint64_t most) { most_ = most; }

  // A user may have as much as is still free: the first one at most half of all, and there is always room for
  // others.
  bool may_write(std::uint32_t user, std::uint64_t bytes) const;
  void wrote(std::uint64_t segment, std::uint32_t user, std::uint64_t bytes);
  // Segments of lower numbers are gone.
  void forget_before(std::uint64_t segment);
  std::uint64_t used() const { return used_; }

 private:
  std::uint64_t most_;
  std::uint64_t used_ = 0;
  std::map<std::uint32_t, std::uint64_t> users_;
  std::map<std::uint64_t, std::map<std::uint32_t, std::uint64_t>> segments_;
};

}  // namespace tailor::session
