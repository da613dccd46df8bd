// Adds samples up by everything a report may ask for.
#pragma once

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

// A hash table with open addressing: sums are dense, and a sample touches two cache lines. One thread.
class CellSums {
 public:
  CellSums();
  void add(const store::SampleRecord& sample);
  // By key. Of one key the sums are those of its samples in the order in which they were added.
  std::map<CellKey, Cell> take();

 private:
  struct Sum {
    CellKey key;
    Cell cell;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t sum = 0;  // number in sums_ + 1, 0: free
  };

  Cell& cell_of(const CellKey& key, std::uint32_t hash);
  void grow();

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Sum> sums_;
};

}  // namespace tailor::query
