// A cache that is played with exact addresses: the truth that the model of this folder is compared with.
//
// It replaces the least recently used line, fetches a line that is written and not there, writes modified
// lines back when they leave, and prefetches nothing. Each access has an account, which the caller chooses:
// an operator and a region, say. A fetch counts for the account of the access, and a write-back for the
// account that modified the line last.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/base/result.h"

namespace tailor::traffic {

struct CacheGeometry {
  std::uint32_t line_bytes = 64;  // a power of two, 16 .. 4096
  std::uint64_t lines = 0;        // 1 .. SimulatedCache::kMostLines
  // Lines of a set, of 1 .. 64; `lines` is a multiple of it. A line's number modulo the number of sets is its
  // set. 0: the cache is fully associative.
  std::uint32_t ways = 0;
};

struct SimulatedTraffic {
  std::uint64_t accesses = 0;
  std::uint64_t visits = 0;   // of lines: an access that lies on two lines visits both
  std::uint64_t fetched = 0;  // lines that were not there and were read from below
  std::uint64_t written = 0;  // lines that were written back

  bool operator==(const SimulatedTraffic&) const = default;
};

// Not thread-safe. Memory: at most 40 bytes a line, all of it from the start.
class SimulatedCache {
 public:
  static constexpr std::uint64_t kMostLines = std::uint64_t{1} << 23;
  static constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
  static constexpr std::uint32_t kMostAccounts = std::uint32_t{1} << 16;

  // An empty cache, with accounts 0 .. `accounts` - 1. Errors (kInvalid): a number is not possible; they say
  // which one is.
  static Result<SimulatedCache> make(const CacheGeometry& geometry, std::uint32_t accounts);

  // `bytes` bytes from `address` on. 0 bytes are no access. The part beyond the last address is cut
  // off. An access of more than kMostBytes, or with an account that there is not, changes nothing and counts
  // as refused.
  void read(std::uint64_t address, std::uint64_t bytes, std::uint32_t account) {
    access(address, bytes, account, false);
  }
  void write(std::uint64_t address, std::uint64_t bytes, std::uint32_t account) {
    access(address, bytes, account, true);
  }

  // Nobody needs these bytes any more: lines that lie in the range as a whole count as not modified. No real
  // cache can be told this.
  void discard(std::uint64_t address, std::uint64_t bytes);

  // Writes all modified lines back. They stay in the cache.
  void flush();

  const SimulatedTraffic& of(std::uint32_t account) const { return traffic_.at(account); }
  SimulatedTraffic total() const;
  std::uint64_t refused() const { return refused_; }
  std::uint64_t cached_lines() const { return used_; }

 private:
  struct Line {
    std::uint64_t number = 0;
    std::uint32_t owner = 0;  // the account that modified it last
    // Neighbours in the order of use, as indexes into lines_. Only of a fully associative cache.
    std::uint32_t newer = 0;
    std::uint32_t older = 0;
    bool is_used = false;
    bool is_modified = false;
  };

  SimulatedCache(const CacheGeometry& geometry, std::uint32_t accounts);
  void access(std::uint64_t address, std::uint64_t bytes, std::uint32_t account, bool writes);
  Line& bring(std::uint64_t number, SimulatedTraffic& account);
  Line& bring_into_set(std::uint64_t number, SimulatedTraffic& account);
  Line& bring_anywhere(std::uint64_t number, SimulatedTraffic& account);
  void fill(Line& line, std::uint64_t number, SimulatedTraffic& account);
  void write_back(Line& line);
  Line* find(std::uint64_t number);

  // The index of lines by number, with open addressing.
  std::size_t home_of(std::uint64_t number) const;
  std::size_t place_of(std::uint64_t number) const;
  void forget(std::uint64_t number);
  void unlink(std::uint32_t at);
  void link_newest(std::uint32_t at);

  CacheGeometry geometry_;
  std::uint64_t sets_ = 1;
  std::uint32_t line_shift_ = 0;
  std::uint32_t index_shift_ = 0;
  std::vector<Line> lines_;           // by set, newest first; or in any order, linked
  std::vector<std::uint32_t> index_;  // index into lines_ plus 1; 0: free
  std::uint32_t newest_ = 0, oldest_ = 0;
  std::uint64_t used_ = 0;
  std::uint64_t refused_ = 0;
  std::vector<SimulatedTraffic> traffic_;
};

}  // namespace tailor::traffic
