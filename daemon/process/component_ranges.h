// Which code belongs to which engine component (parser, optimiser, allocator ...).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/process/limits.h"
#include "proto/base/result.h"

namespace tailor::process {

// Ranges of two components never overlap: the first message counts. They hold for as long as the process. One
// thread.
class ComponentRanges {
 public:
  explicit ComponentRanges(const Limits& limits) : limits_(limits) {}

  // Fails for an empty range, one that overlaps that of another component, and beyond the limits. Ranges of
  // one component that overlap become one: a runtime puts new stubs where others were.
  Status add(std::uint32_t component, std::uint64_t begin, std::uint64_t end);
  // 0 if no component claims the address. No allocation.
  std::uint32_t find(std::uint64_t address) const;
  void clear() { ranges_.clear(); }

 private:
  struct Range {
    std::uint64_t begin, end;
    std::uint32_t component;
  };

  Limits limits_;
  std::vector<Range> ranges_;
};

}  // namespace tailor::process
