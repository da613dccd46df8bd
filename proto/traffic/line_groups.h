// How many lines a pattern touches, exactly: which lines the items of a region lie on.
//
// Manegold's formulas take lines for full of whole items. Rows of 24 or 40 bytes are not so: some lie on two
// lines, and a line has parts of three or four. All expected numbers here are sums over the real layout.
#pragma once

#include <cstdint>
#include <vector>

#include "proto/traffic/pattern.h"

namespace tailor::traffic {

// Lines on each of which the used bytes of the same number of items lie.
struct LineGroup {
  double lines = 0;
  double items = 0;  // at least 1
};

// The lines of a region, grouped, in ascending order of `items`. Lines without a used byte are left out. The
// region begins at a line. `used_bytes` as in Pattern; check() has passed. At most some ten thousand steps,
// whatever the number of items.
std::vector<LineGroup> line_groups(const Region& region, std::uint32_t used_bytes, std::uint32_t line_bytes);

// Lines in all of them.
double lines_in(const std::vector<LineGroup>& groups);
// Visits of a line when each item is accessed once: an item on two lines counts twice.
double visits_in(const std::vector<LineGroup>& groups);

// The expected number of distinct lines that `accesses` (0 or more, also a fraction) touch, each of an item
// that is drawn evenly from `items` (Cardenas' formula over the real layout).
double distinct_of_accesses(const std::vector<LineGroup>& groups, std::uint64_t items, double accesses);
// The same where each item is accessed once with probability `share`, or in a random order up to that share
// of the items.
double distinct_of_share(const std::vector<LineGroup>& groups, double share);

// (1 - chance)^times for a chance of 0 .. 1; 0^0 is 1. It keeps its precision where the chance is tiny.
double never(double chance, double times);
// 1 - never(), also where that is tiny.
double ever(double chance, double times);

}  // namespace tailor::traffic
