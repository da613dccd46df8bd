#include "proto/traffic/pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <string>
#include <utility>

namespace tailor::traffic {
namespace {

// What is wrong with a pattern; empty: nothing.
std::string fault_of(const Pattern& pattern) {
  const Region& region = pattern.region;
  if (region.item_bytes == 0 || region.item_bytes > kMostItemBytes)
    return fmt::format("its items have {} bytes: 1 to {} are possible", region.item_bytes, kMostItemBytes);
  if (region.items > kMostRegionBytes / region.item_bytes)
    return fmt::format("its region has more than {} bytes", kMostRegionBytes);
  if (pattern.used_bytes > region.item_bytes)
    return fmt::format("it uses {} bytes of an item that has {}", pattern.used_bytes, region.item_bytes);
  if (region.parts == 0 || region.parts > kMostPatterns || region.part > region.parts)
    return fmt::format("its region is part {} of {}", region.part, region.parts);
  if (!pattern.reads && !pattern.writes) return "it neither reads nor writes";
  if (pattern.times == 0 || pattern.times > kMostTimes)
    return fmt::format("it traverses its region {} times: 1 to {} are possible", pattern.times, kMostTimes);
  const bool repeats =
      pattern.kind == PatternKind::kSequential || pattern.kind == PatternKind::kRandomTraversal;
  if (pattern.times > 1 && !repeats) return "only sequential and random traversals can be repeated";
  // Written so that NaN is refused.
  if (!(pattern.share >= 0 && pattern.share <= 1)) return "its share is not between 0 and 1";
  if (pattern.accesses > kMostRegionBytes)
    return fmt::format("it has more than {} accesses", kMostRegionBytes);
  if (pattern.kind == PatternKind::kRandomAccess && pattern.accesses > 0 && region.items == 0)
    return "it has accesses to a region without items";
  if (pattern.cursors == 0) return "it has no cursor";
  return {};
}

std::uint64_t part_of(std::uint64_t whole, std::uint32_t blocks) {
  return whole / blocks + (whole % blocks == 0 ? 0 : 1);
}

}  // namespace

Status check(const Pattern& pattern) {
  std::string fault = fault_of(pattern);
  if (!fault.empty()) return invalid(std::move(fault));
  return Ok{};
}

Status check(const Cache& cache, std::span<const Phase> phases) {
  if (!std::has_single_bit(cache.line_bytes) || cache.line_bytes < 16 || cache.line_bytes > 4096)
    return invalid(
        fmt::format("a cache line has {} bytes: take a power of two from 16 to 4096", cache.line_bytes));
  if (cache.lines == 0 || cache.lines > kMostLines)
    return invalid(fmt::format("the cache has {} lines: take 1 to {}", cache.lines, kMostLines));
  std::size_t patterns = 0;
  std::map<std::uint32_t, std::uint32_t> parts;   // of each region that has some
  std::map<std::uint32_t, std::uint64_t> wholes;  // patterns that use the whole of a region
  for (std::size_t i = 0; i < phases.size(); ++i) {
    const std::vector<Pattern>& of_phase = phases[i].patterns;
    patterns += of_phase.size();
    if (of_phase.size() > kMostPatternsOfPhase)
      return invalid(fmt::format("phase {} has {} patterns: at most {} are possible", i + 1, of_phase.size(),
                                 kMostPatternsOfPhase));
    if (of_phase.size() > cache.lines)
      return invalid(
          fmt::format("phase {} has {} patterns, and the cache only {} lines: each pattern needs one", i + 1,
                      of_phase.size(), cache.lines));
    for (std::size_t j = 0; j < of_phase.size(); ++j) {
      std::string fault = fault_of(of_phase[j]);
      const Region& region = of_phase[j].region;
      if (fault.empty() && region.part != 0 &&
          parts.emplace(region.id, region.parts).first->second != region.parts)
        fault =
            fmt::format("region {} has {} parts here, and another number elsewhere", region.id, region.parts);
      if (!fault.empty()) return invalid(fmt::format("pattern {} of phase {}: {}", j + 1, i + 1, fault));
      if (region.part == 0) ++wholes[region.id];
    }
  }
  if (patterns > kMostPatterns || phases.size() > kMostPatterns)
    return invalid(fmt::format("there are {} patterns in {} phases: at most {} are possible", patterns,
                               phases.size(), kMostPatterns));
  std::uint64_t pieces = 0;
  for (const auto& [id, count] : parts)
    if (const auto whole = wholes.find(id); whole != wholes.end()) pieces += count * whole->second;
  if (pieces > kMostPieces)
    return invalid(
        fmt::format("regions that are used as a whole and in parts have {} pieces: at most {} are "
                    "possible",
                    pieces, kMostPieces));
  return Ok{};
}

Result<std::vector<Phase>> blocked(std::span<const Phase> phases, std::uint32_t blocks,
                                   std::span<const std::uint32_t> regions) {
  if (blocks == 0) return invalid("no blocks: take at least one");
  std::size_t patterns = 0;
  for (const Phase& phase : phases) patterns += std::max<std::size_t>(phase.patterns.size(), 1);
  if (patterns > kMostPatterns / blocks)
    return invalid(fmt::format("{} blocks of {} patterns: at most {} patterns in all are possible", blocks,
                               patterns, kMostPatterns));
  const auto is_blocked = [&](std::uint32_t id) { return std::ranges::find(regions, id) != regions.end(); };
  std::vector<Phase> out;
  out.reserve(phases.size() * blocks);
  for (std::uint32_t block = 1; block <= blocks; ++block) {
    for (const Phase& phase : phases) {
      Phase& made = out.emplace_back(phase);
      // The next block needs other parts of the region, or all of it again.
      if (block < blocks) made.discarded.clear();
      for (Pattern& pattern : made.patterns) {
        if (!is_blocked(pattern.region.id)) continue;
        if (pattern.region.part != 0)
          return invalid(
              fmt::format("region {} is a part already and cannot be blocked again", pattern.region.id));
        pattern.region.items = part_of(pattern.region.items, blocks);
        pattern.accesses = part_of(pattern.accesses, blocks);
        pattern.region.part = block;
        pattern.region.parts = blocks;
      }
    }
  }
  return out;
}

}  // namespace tailor::traffic
