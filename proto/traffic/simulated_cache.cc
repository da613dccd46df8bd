#include "proto/traffic/simulated_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace tailor::traffic {
namespace {

constexpr std::uint32_t kNoLine = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint32_t kMostWays = 64;

}  // namespace

Result<SimulatedCache> SimulatedCache::make(const CacheGeometry& geometry, std::uint32_t accounts) {
  if (!std::has_single_bit(geometry.line_bytes) || geometry.line_bytes < 16 || geometry.line_bytes > 4096)
    return invalid(
        fmt::format("a line of {} bytes: take a power of two from 16 to 4096", geometry.line_bytes));
  if (geometry.lines == 0 || geometry.lines > kMostLines)
    return invalid(fmt::format("a cache of {} lines: take 1 to {}", geometry.lines, kMostLines));
  if (geometry.ways > kMostWays || (geometry.ways > 0 && geometry.lines % geometry.ways != 0))
    return invalid(fmt::format("{} ways for {} lines: take at most {}, and lines that are a multiple of them",
                               geometry.ways, geometry.lines, kMostWays));
  if (accounts == 0 || accounts > kMostAccounts)
    return invalid(fmt::format("{} accounts: take 1 to {}", accounts, kMostAccounts));
  return SimulatedCache(geometry, accounts);
}

SimulatedCache::SimulatedCache(const CacheGeometry& geometry, std::uint32_t accounts)
    : geometry_(geometry),
      line_shift_(static_cast<std::uint32_t>(std::countr_zero(geometry.line_bytes))),
      lines_(geometry.lines),
      newest_(kNoLine),
      oldest_(kNoLine),
      traffic_(accounts) {
  if (geometry.ways > 0) {
    sets_ = geometry.lines / geometry.ways;
    return;
  }
  // At most half full.
  const std::uint64_t places = std::bit_ceil(geometry.lines * 2);
  index_.resize(places);
  index_shift_ = 64 - static_cast<std::uint32_t>(std::countr_zero(places));
}

void SimulatedCache::access(std::uint64_t address, std::uint64_t bytes, std::uint32_t account, bool writes) {
  if (bytes == 0) return;
  if (account >= traffic_.size() || bytes > kMostBytes) {
    ++refused_;
    return;
  }
  SimulatedTraffic& counts = traffic_[account];
  ++counts.accesses;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t last = bytes - 1 > kLast - address ? kLast : address + (bytes - 1);
  for (std::uint64_t number = address >> line_shift_; number <= last >> line_shift_; ++number) {
    ++counts.visits;
    Line& line = bring(number, counts);
    if (!writes) continue;
    line.is_modified = true;
    line.owner = account;
  }
}

SimulatedCache::Line& SimulatedCache::bring(std::uint64_t number, SimulatedTraffic& account) {
  return geometry_.ways > 0 ? bring_into_set(number, account) : bring_anywhere(number, account);
}

SimulatedCache::Line& SimulatedCache::bring_into_set(std::uint64_t number, SimulatedTraffic& account) {
  const auto begin = lines_.begin() + static_cast<std::ptrdiff_t>(number % sets_ * geometry_.ways);
  const auto end = begin + geometry_.ways;
  auto found =
      std::find_if(begin, end, [&](const Line& line) { return line.is_used && line.number == number; });
  const bool is_there = found != end;
  if (!is_there) found = end - 1;  // free ones are last, too
  std::rotate(begin, found, found + 1);
  if (!is_there) fill(*begin, number, account);
  return *begin;
}

SimulatedCache::Line& SimulatedCache::bring_anywhere(std::uint64_t number, SimulatedTraffic& account) {
  std::size_t place = place_of(number);
  if (index_[place] != 0) {
    const std::uint32_t at = index_[place] - 1;
    if (at != newest_) {
      unlink(at);
      link_newest(at);
    }
    return lines_[at];
  }
  std::uint32_t at = static_cast<std::uint32_t>(used_);
  if (used_ == lines_.size()) {
    at = oldest_;
    unlink(at);
    forget(lines_[at].number);
    place = place_of(number);  // what was forgotten may have moved others
  }
  index_[place] = at + 1;
  link_newest(at);
  fill(lines_[at], number, account);
  return lines_[at];
}

// Gives the line's content back and takes in another one.
void SimulatedCache::fill(Line& line, std::uint64_t number, SimulatedTraffic& account) {
  if (line.is_used) {
    write_back(line);
  } else {
    line.is_used = true;
    ++used_;
  }
  line.number = number;
  ++account.fetched;
}

void SimulatedCache::write_back(Line& line) {
  if (!line.is_modified) return;
  line.is_modified = false;
  ++traffic_[line.owner].written;
}

SimulatedCache::Line* SimulatedCache::find(std::uint64_t number) {
  if (geometry_.ways == 0) {
    const std::uint32_t at = index_[place_of(number)];
    return at == 0 ? nullptr : &lines_[at - 1];
  }
  Line* const begin = lines_.data() + number % sets_ * geometry_.ways;
  Line* const end = begin + geometry_.ways;
  Line* const found =
      std::find_if(begin, end, [&](const Line& line) { return line.is_used && line.number == number; });
  return found == end ? nullptr : found;
}

void SimulatedCache::discard(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  const std::uint64_t in_line = geometry_.line_bytes - 1;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t last = bytes - 1 > kLast - address ? kLast : address + (bytes - 1);
  const std::uint64_t first_line = (address >> line_shift_) + ((address & in_line) != 0 ? 1 : 0);
  const std::uint64_t line_end = (last >> line_shift_) + ((last & in_line) == in_line ? 1 : 0);
  if (line_end <= first_line) return;
  // A range may be far larger than the cache.
  if (line_end - first_line > lines_.size()) {
    for (Line& line : lines_)
      if (line.number >= first_line && line.number < line_end) line.is_modified = false;
    return;
  }
  for (std::uint64_t number = first_line; number < line_end; ++number)
    if (Line* const line = find(number)) line->is_modified = false;
}

void SimulatedCache::flush() {
  for (Line& line : lines_) write_back(line);
}

SimulatedTraffic SimulatedCache::total() const {
  SimulatedTraffic sum;
  for (const SimulatedTraffic& each : traffic_) {
    sum.accesses += each.accesses;
    sum.visits += each.visits;
    sum.fetched += each.fetched;
    sum.written += each.written;
  }
  return sum;
}

std::size_t SimulatedCache::home_of(std::uint64_t number) const {
  // Fibonacci hashing: neighbours in memory lie apart.
  return static_cast<std::size_t>((number * 0x9E3779B97F4A7C15U) >> index_shift_);
}

// Where the number is, or the free place where it would be.
std::size_t SimulatedCache::place_of(std::uint64_t number) const {
  std::size_t place = home_of(number);
  while (index_[place] != 0 && lines_[index_[place] - 1].number != number)
    place = (place + 1) & (index_.size() - 1);
  return place;
}

// Takes a number out of the index, and closes the gap.
void SimulatedCache::forget(std::uint64_t number) {
  const std::size_t mask = index_.size() - 1;
  std::size_t gap = place_of(number);
  for (std::size_t place = (gap + 1) & mask; index_[place] != 0; place = (place + 1) & mask) {
    const std::size_t home = home_of(lines_[index_[place] - 1].number);
    // It may move to the gap unless its home lies behind the gap.
    if (((place - home) & mask) < ((place - gap) & mask)) continue;
    index_[gap] = index_[place];
    gap = place;
  }
  index_[gap] = 0;
}

void SimulatedCache::unlink(std::uint32_t at) {
  Line& line = lines_[at];
  (line.newer == kNoLine ? newest_ : lines_[line.newer].older) = line.older;
  (line.older == kNoLine ? oldest_ : lines_[line.older].newer) = line.newer;
}

void SimulatedCache::link_newest(std::uint32_t at) {
  Line& line = lines_[at];
  line.newer = kNoLine;
  line.older = newest_;
  if (newest_ != kNoLine) lines_[newest_].newer = at;
  newest_ = at;
  if (oldest_ == kNoLine) oldest_ = at;
}

}  // namespace tailor::traffic
