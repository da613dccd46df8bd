// The most that a cache saves of a traversal in random order, whatever it keeps.
//
// A cache that knows the pattern knows how many uses each line has left, but not which item comes next. So
// the chance of a hit is at most the share of the uses that the lines with most of them have left. The cache
// that replaces the least recently used line saves less: it also keeps lines that have no use left.
#pragma once

#include <vector>

#include "proto/traffic/line_groups.h"

namespace tailor::traffic {

// Immutable; any thread.
class TraversalSavings {
 public:
  // Of no line: nothing is saved.
  TraversalSavings() = default;
  // Some ten thousand steps.
  explicit TraversalSavings(const std::vector<LineGroup>& groups);

  // Visits of lines that one traversal saves at most with `lines` lines of space, as an expected number: a
  // traversal before which no line is there, and one before which any lines may be. Both rise with `lines`.
  double first(double lines) const { return at(first_, lines); }
  double later(double lines) const { return at(later_, lines); }

 private:
  double at(const std::vector<double>& saved, double lines) const;
  double edge(int part) const;

  double all_lines_ = 0;
  // At the edges of parts of the space. Parts are small where the space is: there the curves bend most.
  std::vector<double> first_, later_;
};

}  // namespace tailor::traffic
