// What lies in a cache between two phases: lines of regions, in the order of their last use. Part of
// estimate().
#pragma once

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

// Lines of a region that one phase left.
struct CachedRegion {
  Region region = {};
  std::size_t phase = 0;  // that used them last
  double lines = 0;
  bool in_order = false;  // they were used in the order of memory
  bool cut = false;       // others that were used before them have been given back
  std::vector<Modified> modified = {};
};

// What a phase finds of a region.
struct Found {
  double lines = 0;  // of the region itself, or of its part
  double above = 0;  // lines of regions that were used after it, in later phases
  bool in_order = false;
  bool cut = false;
};

// Not thread-safe.
class CacheStack {
 public:
  explicit CacheStack(double lines) : lines_(lines) {}

  // What of `region` is there. An entry of the whole region gives a part its share.
  Found find(const Region& region) const;

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
  double lines_;
  std::vector<CachedRegion> entries_;  // the last one is on top
};

}  // namespace tailor::traffic
