// Adds samples up by the instruction of generated code that they were at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/load/cell.h"
#include "proto/base/ids.h"

namespace tailor::query {

// A place in a code object of a process.
struct CodeSpot {
  static constexpr std::uint32_t kSomewhere = UINT32_MAX;  // as an offset: not kept apart
  ProcessId process = {};
  CodeId code = 0;
  std::uint32_t offset = 0;
  bool operator==(const CodeSpot&) const = default;
};

// Samples at `spot` that share a key. The pointer is to a key of the profile's cells.
struct SpotSum {
  std::uint32_t spot = 0;
  const CellKey* key = nullptr;
  Cell cell;
};

struct CodeSums {
  std::vector<CodeSpot> spots;  // by number; number 0 is of samples that were in no generated code
  std::vector<SpotSum> sums;    // by spot, then in the order of their keys
};

// One thread. Bounded: what exceeds the limits is somewhere in its code object.
class CodeSummer {
 public:
  CodeSummer();

  // The number of the spot of a sample in the code object [base, base + size) that attribution found for it.
  std::uint32_t spot_of(const profile::SampleRecord& sample, std::uint64_t base, std::uint64_t size);
  // The number of that place.
  std::uint32_t spot_of(const CodeSpot& spot);
  // Counts a sample. Nothing is counted at number 0. `key` must stay where it is until take().
  void add(std::uint32_t spot, const CellKey* key, std::uint64_t weight);
  // Puts `to(key)` in the place of each key.
  template <typename To>
  CodeSums take(const To& to) {
    CodeSums out;
    for (const auto& [at, cell] : cells_) out.sums.push_back({at.first, to(at.second), cell});
    sort(out.sums);
    out.spots = std::move(spots_);
    return out;
  }
  std::size_t bytes() const;  // of memory, about

 private:
  struct Hash {
    std::size_t operator()(const CodeSpot& spot) const;
  };
  static void sort(std::vector<SpotSum>& sums);

  std::vector<CodeSpot> spots_;
  std::unordered_map<CodeSpot, std::uint32_t, Hash> numbers_;
  std::map<std::pair<std::uint32_t, const CellKey*>, Cell> cells_;
};

}  // namespace tailor::query
