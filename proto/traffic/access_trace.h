// Exact accesses of a running program, sorted to components and regions and played in caches of several
// sizes.
//
// Code that is instrumented calls access() for each load and store. The trace knows which region holds an
// address, as the program says it, and leaves the stack out: registers that did not suffice are no traffic of
// a plan. The accesses that it leaves out are counted.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "proto/traffic/simulated_cache.h"

namespace tailor::traffic {

// Numbers that the caller chooses. Region 0 is memory that no region holds.
struct TraceOwner {
  std::uint32_t component = 0;
  std::uint32_t region = 0;

  auto operator<=>(const TraceOwner&) const = default;
};

struct TraceCounts {
  std::uint64_t accesses = 0;       // all that came, also those that were left out
  std::uint64_t on_stack = 0;       // left out
  std::uint64_t in_no_region = 0;   // played with region 0
  std::uint64_t without_owner = 0;  // left out: there were more components and regions than accounts
};

// One thread. An access is one step in each cache, and a search among the regions if the last one does not
// hold it.
class AccessTrace {
 public:
  static constexpr std::size_t kMostCaches = 16;
  static constexpr std::size_t kMostRegions = std::size_t{1} << 20;

  // With an empty cache of each geometry. Errors (kInvalid): as SimulatedCache::make(), or there are none or
  // more than kMostCaches. `accounts` bounds the pairs of component and region: 1 ..
  // SimulatedCache::kMostAccounts.
  static Result<AccessTrace> make(std::span<const CacheGeometry> geometries, std::uint32_t accounts);

  // Memory of the calling thread's stack: accesses that begin in it are left out.
  void set_stack(std::uint64_t begin, std::uint64_t bytes);

  // The region holds this memory from now on. `region` is not 0. Errors (kInvalid, kExhausted): the memory is
  // empty, wraps around or overlaps with that of another region, or there are kMostRegions. Nothing changes
  // then.
  Status add_region(std::uint64_t base, std::uint64_t bytes, std::uint32_t region);
  // The region that begins at `base` is gone. Its lines stay in the caches. False: there is none.
  bool remove_region(std::uint64_t base);

  // An access that begins in a region counts for it as a whole.
  void access(std::uint32_t component, std::uint64_t address, std::uint64_t bytes, bool writes);

  // Writes back what is modified, in all caches.
  void flush();

  const TraceCounts& counts() const { return counts_; }
  // All pairs that had an access, in ascending order.
  std::vector<TraceOwner> owners() const;
  // What a pair moved in the cache with that number, as geometries were given. Nothing if it had no access.
  SimulatedTraffic of(std::size_t cache, TraceOwner owner) const;
  SimulatedTraffic total(std::size_t cache) const { return caches_.at(cache).total(); }

 private:
  struct Memory {
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint32_t region = 0;
  };

  explicit AccessTrace(std::uint32_t accounts) : most_accounts_(accounts) {}
  std::uint32_t region_at(std::uint64_t address);
  // No account is left: nothing to count for.
  static constexpr std::uint32_t kNoAccount = UINT32_MAX;
  std::uint32_t account_of(TraceOwner owner);

  std::uint32_t most_accounts_;
  std::vector<SimulatedCache> caches_;
  std::map<std::uint64_t, Memory> memory_;  // by base
  Memory last_;                             // that held an address
  std::uint64_t stack_begin_ = 0;
  std::uint64_t stack_bytes_ = 0;
  std::map<TraceOwner, std::uint32_t> accounts_;
  TraceOwner last_owner_;
  std::uint32_t last_account_ = kNoAccount;
  TraceCounts counts_;
};

}  // namespace tailor::traffic
