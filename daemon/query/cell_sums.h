// Adds samples up by everything a report may ask for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/cell.h"

namespace tailor::query {

// The cell that a sample counts in.
CellKey key_of(const profile::SampleRecord& sample);

// A hash table with open addressing: sums are dense, and a sample touches three cache lines. A sample's way
// there is a chain of waits for them, so many go it together: all keys are worked out, then all places are
// looked up, then all sums are changed. One thread.
class CellSums {
 public:
  CellSums();
  void add(std::span<const profile::SampleRecord> samples);
  // Of one key the sums are those of its samples in the order in which they were added.
  Cells take();
  std::size_t bytes() const { return slots_.size() * sizeof(Slot) + chunks_.size() * kChunk * sizeof(Sum); }

 private:
  // A key without gaps, of the size of a cache line: equal keys are equal words.
  using Words = std::array<std::uint64_t, 8>;
  struct alignas(64) Sum {
    Words key;
    Cell cell;
  };
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t sum = 0;  // number + 1, 0: free
  };

  // A sample with its key worked out.
  struct Keyed {
    Words key;
    std::uint32_t hash;
  };
  static constexpr std::size_t kAtOnce = 32;

  void add_unnumbered(std::span<const profile::SampleRecord> samples);
  void add_numbered(const profile::SampleRecord& sample);
  static void add(Cell& cell, const profile::SampleRecord& sample);
  static Words words_of(const profile::SampleRecord& sample);
  static std::uint32_t hash_of(const Words& key);
  static CellKey key_of(const Words& words);
  Sum& sum_at(std::uint32_t number) const { return chunks_[number / kChunk][number % kChunk]; }
  Cell& cell_of(const Keyed& keyed);
  Cell& new_cell(const Words& key, std::uint32_t hash, std::size_t at);
  void grow();

  void fetch_slot(std::uint32_t hash) const;
  void fetch_sum(std::uint32_t hash) const;

  std::vector<Slot> slots_;  // a power of two, at most a quarter full
  // Sums stay where they are: in chunks, by number.
  static constexpr std::size_t kChunk = 512;
  std::vector<std::unique_ptr<Sum[]>> chunks_;
  std::uint32_t sums_ = 0;
  // The sums of samples that are numbered as alike, by part of that number: looked at before the key is.
  struct Alike {
    std::uint64_t number = 0;
    Cell* cell = nullptr;
  };
  static constexpr std::size_t kAlike = 8192;
  std::vector<Alike> alike_;  // empty until there is one
};

}  // namespace tailor::query
