// Adds up the samples of block after block, for a SUMS block behind them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/cell_sums.h"
#include "daemon/profile/records.h"
#include "daemon/store/sums_block.h"

namespace tailor::store {

struct SumsOptions {
  std::uint64_t most_samples = 1u << 20;   // of a group
  std::uint64_t least_samples = 1u << 16;  // fewer are read as fast as their sums
  std::size_t most_keys = 1u << 14;        // of a group; at most kMaxBlockRows
  // Sums are written where they are at least this much smaller than what they sum up.
  std::uint64_t smaller_by = 32;
};

// Sums by place: a hash table without nodes, because every sample of a program that nobody knows goes through
// it.
class PlaceSums {
 public:
  profile::Sum& of(const profile::PlaceKey& place);
  std::size_t size() const { return used_; }
  // By place. Nothing is left.
  std::vector<std::pair<profile::PlaceKey, profile::Sum>> take();

 private:
  struct Slot {
    profile::PlaceKey place;
    profile::Sum sum;
    bool used = false;
  };
  Slot& slot_of(const profile::PlaceKey& place);

  std::vector<Slot> slots_;  // a power of two, at most half full; empty until there is a place
  std::size_t used_ = 0;
};

// What it decides depends on the calls alone. One thread.
class GroupSums {
 public:
  explicit GroupSums(const SumsOptions& options) : options_(options) {}

  // The next block, which has been written: its samples, its sequence number and the size of its payload.
  void add(std::span<const profile::SampleRecord> samples, std::uint64_t block, std::uint64_t bytes);
  // It is time to end the group.
  bool full() const;
  // Ends the group: the payload of its SUMS block, or nothing where that does not pay.
  std::optional<std::string> end();
  // Ends the group without sums.
  void forget();

 private:
  SumsOptions options_;
  profile::CellSums cells_;
  PlaceSums places_;
  std::vector<SummedBlock> blocks_;
  std::uint64_t samples_ = 0, bytes_ = 0;
  std::uint64_t rest_ = 0;  // samples that are not added up, because sums of those before them did not pay
};

}  // namespace tailor::store
