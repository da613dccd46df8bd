// One pattern in a cache, by how long its lines stay there.
//
// The thesis gives a pattern a part of the cache (equations 7.4 to 7.6). Least recently used works otherwise:
// a line stays as long as fewer distinct lines are touched than the cache has. So everything here depends on
// a window: the share of the phase in which as many distinct lines are touched as the cache has lines (the
// working set of Denning). For one pattern alone this gives Manegold's formulas again.
#pragma once

#include <vector>

#include "proto/traffic/line_groups.h"
#include "proto/traffic/pattern.h"
#include "proto/traffic/traversal_savings.h"

namespace tailor::traffic {

// A pattern that check() has accepted. Immutable; any thread.
class Shape {
 public:
  Shape(const Pattern& pattern, std::uint32_t line_bytes);

  // Whether its items are touched in the order of memory.
  bool is_ordered() const;
  // Whether, beyond that, each item is touched before those that lie behind it.
  bool is_in_order_of_time() const { return is_ordered() && pattern_.kind != PatternKind::kNested; }
  // Lines of its region that have a byte it could use.
  double region_lines() const { return region_lines_; }
  // The expected number of distinct lines that it touches (7.1: F). 0: it does nothing.
  double footprint() const { return footprint_; }
  // Accesses to items, and visits of lines by them: an item on two lines visits both.
  double accesses() const { return accesses_; }
  double visits() const { return visits_; }

  // The expected number of distinct lines that it touches within a window, as a share of the phase (0 .. 1).
  // It grows with the window up to the footprint. A pattern that bypasses the cache touches none.
  double distinct(double window) const;
  // Lines that it fetches if a line stays for that window after each use, and none is there at its begin: the
  // expected number of visits of lines that were not visited within the window. distinct(window) or more.
  double misses(double window) const;
  // The least that it fetches with `lines` lines for itself, whatever stays in them, unless somebody knows
  // the random numbers beforehand (7.2: optimal allocation; of repeated traversals a part stays, footnote 3).
  // Manegold's formulas are no such bound for random traversals and for partitions: they are those of the
  // least recently used line. Falls with `lines`.
  double least_misses(double lines) const;

  // Of `fetched` lines, those that are read. The others are only overwritten (tables 7.1 and 7.2).
  double lines_read(double fetched, bool fills_on_write) const;

  const Pattern& pattern() const { return pattern_; }

 private:
  double random_traversal_misses(double window) const;
  double items_beside(double lines) const;
  double least_of_random_traversal(double lines) const;
  double least_of_nested(double lines) const;
  bool covers_lines() const;

  Pattern pattern_;
  std::uint32_t line_bytes_;
  std::vector<LineGroup> groups_;
  TraversalSavings savings_;  // kRandomTraversal
  double region_lines_ = 0;
  double footprint_ = 0;
  double accesses_ = 0;
  double visits_ = 0;
};

// The largest window, 0 .. 1, in which `distinct(window)` is at most `lines`. `distinct` must not fall.
template <typename Distinct>
double window_for(double lines, Distinct distinct) {
  if (distinct(1.0) <= lines) return 1;
  double low = 0, high = 1;
  // As exact as a double, and never without end.
  for (int step = 0; step < 64; ++step) {
    const double middle = (low + high) / 2;
    (distinct(middle) <= lines ? low : high) = middle;
  }
  return low;
}

}  // namespace tailor::traffic
