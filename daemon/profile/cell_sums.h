// Adds samples up by everything a report may ask for.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "daemon/profile/cell.h"
#include "daemon/profile/records.h"

namespace tailor::profile {

// A hash table with open addressing: sums are dense, and a sample touches three cache lines. A sample's way
// there is a chain of waits for them, so several samples go it together: all keys are worked out, then all
// places are looked up, then all sums are changed. One thread.
class CellSums {
 public:
  CellSums();
  // `numbers`: NULL, or where to say the number of each sample's key, below size().
  void add(std::span<const SampleRecord> samples, std::uint32_t* numbers = nullptr);
  // Adds a sum of samples of the same key as `sample`, which itself is not counted.
  void add(const SampleRecord& sample, const Sum& sum);
  // By key. Nothing is left.
  Cells take();
  std::vector<std::pair<CellKey, Sum>> take_sums();
  std::size_t size() const { return sums_; }  // how many keys
  CellKey key(std::uint32_t number) const { return key_of(entry_at(number).key); }
  std::size_t bytes() const { return slots_.size() * sizeof(Slot) + chunks_.size() * kChunk * sizeof(Entry); }

 private:
  // A key without gaps, of the size of a cache line: equal keys are equal words.
  using Words = std::array<std::uint64_t, 8>;
  struct alignas(64) Entry {
    Words key;
    Sum sum;
    std::uint32_t number;
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

  void add_unnumbered(std::span<const SampleRecord> samples, std::uint32_t* numbers);
  std::uint32_t add_numbered(const SampleRecord& sample);
  static Words words_of(const SampleRecord& sample);
  static std::uint32_t hash_of(const Words& key);
  static CellKey key_of(const Words& words);
  Entry& entry_at(std::uint32_t number) const { return chunks_[number / kChunk][number % kChunk]; }
  Entry& entry_of(const Keyed& keyed);
  Entry& new_entry(const Words& key, std::uint32_t hash, std::size_t at);
  void grow();

  void fetch_slot(std::uint32_t hash) const;
  void fetch_sum(std::uint32_t hash) const;

  std::vector<Slot> slots_;  // a power of two, at most a quarter full
  // Sums stay where they are: in chunks, by number.
  static constexpr std::size_t kChunk = 512;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::uint32_t sums_ = 0;
  // The sums of samples that are numbered as alike, by part of that number: looked at before the key is.
  struct Alike {
    std::uint64_t number = 0;
    Entry* entry = nullptr;
  };
  static constexpr std::size_t kAlike = 8192;
  std::vector<Alike> alike_;  // empty until there is one
};

}  // namespace tailor::profile
