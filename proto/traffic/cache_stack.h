// What lies in a cache between two phases: lines of regions, in the order of their last use. Part of
// estimate().
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "proto/traffic/pattern.h"

namespace tailor::traffic {

// A pattern, by the numbers of its phase and in it.
struct PatternAt {
  std::size_t phase = 0;
  std::size_t pattern = 0;
};

// Modified lines of an entry, and who modified them last.
struct Modified {
  PatternAt by = {};
  double lines = 0;
};

// A curve between 0 and 1, by its values at equal distances.
inline constexpr int kCurveSteps = 16;
using Curve = std::array<double, kCurveSteps + 1>;
// Its value at `at`, which is cut to 0 .. 1.
double value_at(const Curve& curve, double at);

// Lines of a region that one phase left.
struct CachedRegion {
  Region region = {};
  std::size_t phase = 0;  // that used them last
  bool in_order = false;  // each was used before those that lie behind it in memory
  double touched = 0;     // lines that the phase used, also those that have been given back
  // Lines by the time of their last use: at 0 none, at 1 all that the phase left. Old ones go first, so what
  // is there is always a begin of the curve, `youth` of it.
  Curve by_age = {};
  double youth = 1;
  double scale = 1;  // later phases took the rest
  std::vector<Modified> modified = {};

  double lines(double up_to) const { return scale * value_at(by_age, up_to); }
  double lines() const { return lines(youth); }
};

// What a phase finds of a region.
struct Found {
  Curve left = {};    // lines that are left when that share of the cache has been filled with other lines
  double spread = 0;  // lines of the region among which they are: what was used of it
  bool in_order = false;

  double lines() const { return left.front(); }
};

// Not thread-safe.
class CacheStack {
 public:
  explicit CacheStack(double lines) : lines_(lines) {}

  // What of `region` is there. If it is a part, entries of the whole region become entries of its parts.
  Found find(const Region& region);

  // `used` lines of the region are used again and leave their places. Gives what of them is modified.
  std::vector<Modified> take(const Region& region, double used);

  // Lays an entry on top. All entries of a phase come before fit().
  void push(CachedRegion entry);

  // Gives lines back at the bottom until the rest fits. Gives the modified lines that had to be written back.
  std::vector<Modified> fit();

  // Nobody needs the content of the region any more: nothing of it is modified. With `by`: nothing that `by`
  // modified last.
  void discard(std::uint32_t region);
  void discard(std::uint32_t region, PatternAt by);

  // All modified lines that are there.
  std::vector<Modified> modified() const;

 private:
  // Entries that one phase left: they were used alternately, and grow old together.
  struct Layer {
    std::size_t begin = 0, end = 0;  // of entries_
    double lines = 0;
    Curve by_age = {};
  };
  std::vector<Layer> layers() const;
  void split(const Region& region);
  double youth_with(const Layer& layer, double lines) const;

  double lines_;
  std::vector<CachedRegion> entries_;  // the last one is on top
};

}  // namespace tailor::traffic
