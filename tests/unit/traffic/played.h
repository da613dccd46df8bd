// Plays patterns as exact addresses in a simulated cache: the truth that the model is compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "proto/traffic/pattern.h"
#include "proto/traffic/simulated_cache.h"

namespace tailor::traffic {

// What one pattern moved.
using PlayedPhases = std::vector<std::vector<SimulatedTraffic>>;

// Draws below a bound, the same on every machine.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t bound) { return engine_() % bound; }
  bool happens(double chance) { return static_cast<double>(engine_() >> 11) * 0x1p-53 < chance; }
  void shuffle(std::vector<std::uint64_t>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

 private:
  std::mt19937_64 engine_;
};

// The items that a pattern accesses, in its order.
inline std::vector<std::uint64_t> items_of(const Pattern& pattern, Draws& draws) {
  const std::uint64_t items = pattern.region.items;
  std::vector<std::uint64_t> all(items), out;
  std::iota(all.begin(), all.end(), std::uint64_t{0});
  switch (pattern.kind) {
    case PatternKind::kSequential:
      for (std::uint64_t i = 0; i < pattern.times; ++i) {
        out.insert(out.end(), all.begin(), all.end());
        if (pattern.turns) std::ranges::reverse(all);
      }
      break;
    case PatternKind::kConditional:
      std::ranges::copy_if(all, std::back_inserter(out),
                           [&](std::uint64_t) { return draws.happens(pattern.share); });
      break;
    case PatternKind::kRandomTraversal:
      for (std::uint64_t i = 0; i < pattern.times; ++i) {
        draws.shuffle(all);
        out.insert(out.end(), all.begin(), all.end());
      }
      break;
    case PatternKind::kRandomAccess:
      for (std::uint64_t i = 0; i < pattern.accesses; ++i) out.push_back(draws.below(items));
      break;
    case PatternKind::kNested: {
      const std::uint64_t of_cursor = items / pattern.cursors;  // tests take numbers that divide
      std::vector<std::uint64_t> next(pattern.cursors), end(pattern.cursors);
      for (std::uint32_t i = 0; i < pattern.cursors; ++i) {
        next[i] = i * of_cursor;
        end[i] = next[i] + of_cursor;
      }
      for (std::uint64_t turn = 0; !next.empty(); ++turn) {
        const std::size_t at = pattern.at_random ? draws.below(next.size()) : turn % next.size();
        out.push_back(next[at]++);
        if (next[at] < end[at]) continue;
        next.erase(next.begin() + static_cast<std::ptrdiff_t>(at));
        end.erase(end.begin() + static_cast<std::ptrdiff_t>(at));
      }
      break;
    }
  }
  return out;
}

inline std::uint64_t address_of(const Region& region) {
  const std::uint64_t before = region.part == 0 ? 0 : (region.part - 1) * region.items * region.item_bytes;
  return (std::uint64_t{region.id} + 1) << 40 | before;
}

// The pattern whose turn it is, where each goes from its first to its last item at a constant rate. Nothing:
// all are at their ends.
inline std::optional<std::size_t> next_of(const std::vector<std::vector<std::uint64_t>>& items,
                                          const std::vector<std::size_t>& next) {
  std::optional<std::size_t> out;
  double first = 1;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (next[i] == items[i].size()) continue;
    const double when = (static_cast<double>(next[i]) + 0.5) / static_cast<double>(items[i].size());
    if (when >= first) continue;
    first = when;
    out = i;
  }
  return out;
}

// All phases, one after the other, each with its patterns at constant rates. `ways` as in CacheGeometry.
// Accounts are patterns.
inline PlayedPhases play(const Cache& cache, const std::vector<Phase>& phases, Ending ending,
                         std::uint32_t ways = 0, std::uint64_t seed = 1) {
  std::size_t accounts = 1;
  for (const Phase& phase : phases) accounts += phase.patterns.size();
  Result<SimulatedCache> made =
      SimulatedCache::make({cache.line_bytes, cache.lines, ways}, static_cast<std::uint32_t>(accounts));
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().message);
  if (!made.ok()) return {};
  SimulatedCache& played = made.value();
  Draws draws(seed);
  std::uint32_t first = 0;
  for (const Phase& phase : phases) {
    std::vector<std::vector<std::uint64_t>> items;
    for (const Pattern& pattern : phase.patterns) items.push_back(items_of(pattern, draws));
    std::vector<std::size_t> next(items.size());
    for (std::optional<std::size_t> at = next_of(items, next); at; at = next_of(items, next)) {
      const std::uint64_t item = items[*at][next[*at]++];
      const Pattern& pattern = phase.patterns[*at];
      const std::uint64_t address = address_of(pattern.region) + item * pattern.region.item_bytes;
      const std::uint32_t bytes = pattern.used_bytes == 0 ? pattern.region.item_bytes : pattern.used_bytes;
      const std::uint32_t account = first + static_cast<std::uint32_t>(*at);
      if (pattern.reads) played.read(address, bytes, account);
      if (pattern.writes) played.write(address, bytes, account);
    }
    for (const std::uint32_t region : phase.discarded)
      played.discard((std::uint64_t{region} + 1) << 40, std::uint64_t{1} << 40);
    first += static_cast<std::uint32_t>(phase.patterns.size());
  }
  if (ending == Ending::kWrittenBack) played.flush();
  PlayedPhases out;
  std::uint32_t account = 0;
  for (const Phase& phase : phases) {
    std::vector<SimulatedTraffic>& of_phase = out.emplace_back();
    for (std::size_t i = 0; i < phase.patterns.size(); ++i) of_phase.push_back(played.of(account++));
  }
  return out;
}

// Short ways to say a pattern.
inline Pattern scan(std::uint32_t id, std::uint64_t items, std::uint32_t bytes) {
  return {.kind = PatternKind::kSequential, .region = {.id = id, .items = items, .item_bytes = bytes}};
}
inline Pattern shuffled(std::uint32_t id, std::uint64_t items, std::uint32_t bytes, std::uint64_t times = 1) {
  return {.kind = PatternKind::kRandomTraversal,
          .region = {.id = id, .items = items, .item_bytes = bytes},
          .times = times};
}
inline Pattern probes(std::uint32_t id, std::uint64_t items, std::uint32_t bytes, std::uint64_t accesses) {
  return {.kind = PatternKind::kRandomAccess,
          .region = {.id = id, .items = items, .item_bytes = bytes},
          .accesses = accesses};
}
inline Pattern scatter(std::uint32_t id, std::uint64_t items, std::uint32_t bytes, std::uint32_t cursors) {
  return {.kind = PatternKind::kNested,
          .region = {.id = id, .items = items, .item_bytes = bytes},
          .cursors = cursors,
          .reads = false,
          .writes = true};
}
inline Pattern written(Pattern pattern) {
  pattern.reads = false;
  pattern.writes = true;
  return pattern;
}
inline Pattern updated(Pattern pattern) {
  pattern.writes = true;
  return pattern;
}

struct Plan {
  std::string name = {};
  std::vector<Phase> phases = {};
};

// Small ones of the kinds that queries have.
inline std::vector<Plan> small_plans() {
  const Pattern rows = scan(2, 1600, 24);
  std::vector<Plan> out;
  out.push_back({"hash join",
                 {{.patterns = {scan(1, 8000, 8), written(rows)}},
                  {.patterns = {shuffled(2, 1600, 24), updated(probes(3, 2048, 8, 1600))}},
                  {.patterns = {scan(5, 24000, 8), probes(3, 2048, 8, 6000), probes(2, 1600, 24, 4000),
                                written(scan(6, 3000, 16))}}}});
  out.push_back({"group by",
                 {{.patterns = {scan(1, 24000, 8), updated(probes(2, 1000, 32, 8000))}},
                  {.patterns = {scan(2, 1000, 32), written(scan(3, 1000, 16))}}}});
  out.push_back({"partition",
                 {{.patterns = {scan(1, 8000, 16), scatter(2, 8000, 16, 32)}},
                  {.patterns = {scan(2, 8000, 16), updated(probes(3, 500, 16, 4000))}}}});
  out.push_back({"sort",
                 {{.patterns = {scan(1, 6000, 16), written(scan(2, 6000, 16))}},
                  {.patterns = {shuffled(2, 6000, 16), written(scan(3, 6000, 8))}},
                  {.patterns = {scan(3, 6000, 8)}}}});
  out.push_back({"temporary table",
                 {{.patterns = {written(scan(1, 8000, 8))}},
                  {.patterns = {scan(1, 8000, 8)}},
                  {.patterns = {scan(1, 8000, 8), written(scan(2, 4000, 8))}}}});
  return out;
}

// Lines of the largest region of a plan.
inline std::uint64_t largest_region(const Plan& plan, std::uint32_t line_bytes) {
  std::uint64_t out = 0;
  for (const Phase& phase : plan.phases)
    for (const Pattern& pattern : phase.patterns)
      out = std::max(out, pattern.region.items * pattern.region.item_bytes / line_bytes);
  return out;
}

}  // namespace tailor::traffic
