#include "proto/traffic/access_trace.h"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <utility>

namespace tailor::traffic {

Result<AccessTrace> AccessTrace::make(std::span<const CacheGeometry> geometries, std::uint32_t accounts) {
  if (geometries.empty() || geometries.size() > kMostCaches)
    return invalid(fmt::format("{} caches: take 1 to {}", geometries.size(), kMostCaches));
  AccessTrace made(accounts);
  for (const CacheGeometry& geometry : geometries) {
    Result<SimulatedCache> cache = SimulatedCache::make(geometry, accounts);
    if (!cache.ok()) return cache.error();
    made.caches_.push_back(std::move(cache).value());
  }
  return made;
}

void AccessTrace::set_stack(std::uint64_t begin, std::uint64_t bytes) {
  stack_begin_ = begin;
  stack_bytes_ = bytes;
}

Status AccessTrace::add_region(std::uint64_t base, std::uint64_t bytes, std::uint32_t region) {
  if (region == 0) return invalid("region 0 is memory that no region holds: take another number");
  if (bytes == 0 || bytes - 1 > std::numeric_limits<std::uint64_t>::max() - base)
    return invalid(
        fmt::format("region {} has {} bytes from {:#x} on, which is no memory", region, bytes, base));
  if (memory_.size() >= kMostRegions)
    return exhausted(fmt::format("there are {} regions: no more can be traced", kMostRegions));
  const std::uint64_t last = base + (bytes - 1);
  const auto after = memory_.upper_bound(base);
  if (after != memory_.end() && after->first <= last)
    return invalid(fmt::format("region {} at {:#x} overlaps with one at {:#x}", region, base, after->first));
  if (after != memory_.begin()) {
    const Memory& before = std::prev(after)->second;
    if (base - before.base < before.bytes)
      return invalid(fmt::format("region {} at {:#x} overlaps with one at {:#x}", region, base, before.base));
  }
  memory_.emplace(base, Memory{base, bytes, region});
  return Ok{};
}

bool AccessTrace::remove_region(std::uint64_t base) {
  last_ = {};
  return memory_.erase(base) > 0;
}

void AccessTrace::access(std::uint32_t component, std::uint64_t address, std::uint64_t bytes, bool writes) {
  ++counts_.accesses;
  if (address - stack_begin_ < stack_bytes_) {
    ++counts_.on_stack;
    return;
  }
  const std::uint32_t region = region_at(address);
  if (region == 0) ++counts_.in_no_region;
  const std::uint32_t account = account_of({component, region});
  if (account == kNoAccount) {
    ++counts_.without_owner;
    return;
  }
  for (SimulatedCache& cache : caches_) {
    if (writes) {
      cache.write(address, bytes, account);
    } else {
      cache.read(address, bytes, account);
    }
  }
}

void AccessTrace::flush() {
  for (SimulatedCache& cache : caches_) cache.flush();
}

std::vector<TraceOwner> AccessTrace::owners() const {
  std::vector<TraceOwner> out;
  out.reserve(accounts_.size());
  for (const auto& [owner, account] : accounts_) out.push_back(owner);
  return out;
}

SimulatedTraffic AccessTrace::of(std::size_t cache, TraceOwner owner) const {
  const auto found = accounts_.find(owner);
  return found == accounts_.end() ? SimulatedTraffic{} : caches_.at(cache).of(found->second);
}

std::uint32_t AccessTrace::region_at(std::uint64_t address) {
  if (address - last_.base < last_.bytes) return last_.region;
  const auto after = memory_.upper_bound(address);
  if (after == memory_.begin()) return 0;
  const Memory& found = std::prev(after)->second;
  if (address - found.base >= found.bytes) return 0;
  last_ = found;
  return found.region;
}

std::uint32_t AccessTrace::account_of(TraceOwner owner) {
  if (last_account_ != kNoAccount && owner == last_owner_) return last_account_;
  auto found = accounts_.find(owner);
  if (found == accounts_.end()) {
    if (accounts_.size() >= most_accounts_) return kNoAccount;
    found = accounts_.emplace(owner, static_cast<std::uint32_t>(accounts_.size())).first;
  }
  last_owner_ = owner;
  last_account_ = found->second;
  return last_account_;
}

}  // namespace tailor::traffic
