// Adds samples up by everything a report may ask for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "daemon/query/cell.h"
#include "daemon/store/sink.h"

namespace tailor::query {

// The cell that a sample counts in.
CellKey key_of(const store::SampleRecord& sample);

// A hash table with open addressing: sums are dense, and a sample touches two cache lines. A sample's way
// there is a chain of waits, so the keys of many are worked out before the first is looked up: then they
// overlap. One thread.
class CellSums {
 public:
  CellSums();
  void add(std::span<const store::SampleRecord> samples);
  // By key. Of one key the sums are those of its samples in the order in which they were added.
  std::map<CellKey, Cell> take();

 private:
  // A key without gaps, of the size of a cache line: equal keys are equal words.
  using Words = std::array<std::uint64_t, 8>;
  struct Sum {
    Words key;
    Cell cell;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t sum = 0;  // number in sums_ + 1, 0: free
  };

  // A sample with its key worked out.
  struct Keyed {
    Words key;
    std::uint32_t hash;
  };
  static constexpr std::size_t kAtOnce = 32;

  void add(const Keyed& keyed, const store::SampleRecord& sample);
  static Words words_of(const store::SampleRecord& sample);
  static std::uint32_t hash_of(const Words& key);
  static CellKey key_of(const Words& words);
  Cell& cell_of(const Keyed& keyed);
  Cell& new_cell(const Words& key, std::uint32_t hash, std::size_t at);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Sum> sums_;
};

}  // namespace tailor::query
