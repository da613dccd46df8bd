// The least traffic that a plan needs with a cache of a size, however its space is divided (section 7.2 of
// the thesis, "Extensions to Model Large, Optimal Caches").
//
// It differs from the thesis where that could exceed what a real cache moves:
// - A part of a region that is traversed repeatedly may stay (footnote 3). So all costs are convex in the
//   space, and the best division needs no search over subsets (algorithm 7). It is found on the convex hull
//   of each pattern's cost (7.7).
// - A cache may know which lines have no use left. For random traversals and partitions it moves less then
//   than Manegold's formulas say.
// - Between two phases the cache may hold whatever helps the next one most: its lines save at most that many.
// - A pattern's own floor is what it needs with the whole cache for itself. Only these hold for each pattern.
//   A cache may give one region more space than the best division does, so the parts of the best division
//   hold as a sum alone. The floors of the parts of a region (blocked()) hold as a sum, too: any of them may
//   be what the cache held.
// - Where several patterns of a phase use one region, none of them has a floor: any of them may find what
//   another one brought.
//
// It is a bound in expectation, for accesses as they were declared: even over the items and independent. A
// policy that knows the random numbers beforehand can do with less, and so can any policy if accesses are
// skewed or clustered.
#pragma once

#include <vector>

#include "proto/traffic/pattern.h"

namespace tailor::traffic {

// In lines.
struct PatternFloor {
  double read = 0;
  double written = 0;
  double allocated =
      0;  // its space in the best division of its phase (7.8); it minimises the sum of the phase
};

struct LowerBound {
  std::vector<std::vector<PatternFloor>> phases = {};  // as the phases and patterns that were given
  // Sums of the floors.
  double read = 0;
  double written = 0;
  // Read and written: the sum of these, or what the best division needs if that is more. It has no bound for
  // one direction alone: it may read less by writing more.
  double moved = 0;
};

// Lines that are only overwritten count as not read, whatever cache.fills_on_write says: better machines need
// not read them.
//
// Work: some ten thousand steps for a pattern. Pure; any thread. Errors: as check().
Result<LowerBound> lower_bound(const Cache& cache, std::span<const Phase> phases, Ending ending);

}  // namespace tailor::traffic
