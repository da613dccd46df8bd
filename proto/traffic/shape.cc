#include "proto/traffic/shape.h"

#include <algorithm>
#include <cmath>

namespace tailor::traffic {

Shape::Shape(const Pattern& pattern, std::uint32_t line_bytes)
    : pattern_(pattern),
      line_bytes_(line_bytes),
      groups_(line_groups(pattern.region, pattern.used_bytes, line_bytes)),
      region_lines_(lines_in(groups_)) {
  const double items = static_cast<double>(pattern.region.items);
  const double visits_of_all = visits_in(groups_);
  if (pattern.kind == PatternKind::kRandomTraversal) savings_ = TraversalSavings(groups_);
  switch (pattern.kind) {
    case PatternKind::kSequential:
    case PatternKind::kRandomTraversal:
      footprint_ = region_lines_;
      accesses_ = items * static_cast<double>(pattern.times);
      visits_ = visits_of_all * static_cast<double>(pattern.times);
      break;
    case PatternKind::kNested:
      footprint_ = region_lines_;
      accesses_ = items;
      visits_ = visits_of_all;
      break;
    case PatternKind::kConditional:
      footprint_ = distinct_of_share(groups_, pattern.share);
      accesses_ = items * pattern.share;
      visits_ = visits_of_all * pattern.share;
      break;
    case PatternKind::kRandomAccess:
      accesses_ = static_cast<double>(pattern.accesses);
      if (items == 0) break;
      footprint_ = distinct_of_accesses(groups_, pattern.region.items, accesses_);
      visits_ = visits_of_all / items * accesses_;
      break;
  }
}

bool Shape::is_ordered() const {
  return pattern_.kind != PatternKind::kRandomTraversal && pattern_.kind != PatternKind::kRandomAccess;
}

double Shape::distinct(double window) const {
  if (!pattern_.allocates || footprint_ == 0) return 0;
  const double passes = window * static_cast<double>(pattern_.times);
  switch (pattern_.kind) {
    case PatternKind::kSequential:
      // What lies between two uses of a line when the traversal turns is half of what is traversed meanwhile.
      return std::min(footprint_, footprint_ * (pattern_.turns ? passes / 2 : passes) + 1);
    case PatternKind::kConditional:
      return std::min(footprint_, footprint_ * window + 1);
    case PatternKind::kRandomTraversal:
      return distinct_of_share(groups_, std::min(passes, 1.0));
    case PatternKind::kRandomAccess:
      return distinct_of_accesses(groups_, pattern_.region.items, accesses_ * window);
    case PatternKind::kNested: {
      // Each cursor that moved has its open line, and those that it has filled.
      const double cursors = pattern_.cursors, moves = accesses_ * window;
      const double of_line = std::max(1.0, visits_ / footprint_);
      const double still =
          pattern_.at_random ? never(1 / cursors, moves) : std::max(0.0, 1 - moves / cursors);
      const double open = cursors * (1 - still) * (1 - 1 / of_line);
      return std::min(footprint_, open + visits_ * window / of_line);
    }
  }
  return 0;
}

double Shape::misses(double window) const {
  const double times = static_cast<double>(pattern_.times);
  const bool ordered = is_ordered();
  // Stores that bypass the cache are combined to lines where they are in order.
  if (!pattern_.allocates) return ordered ? footprint_ * times : visits_;
  if (footprint_ == 0) return 0;
  switch (pattern_.kind) {
    case PatternKind::kSequential: {
      if (!pattern_.turns) return window * times >= 1 ? footprint_ : footprint_ * times;
      const double stays = std::min(1.0, window * times / 2);
      return footprint_ * (1 + (times - 1) * (1 - stays));
    }
    case PatternKind::kConditional:
      return footprint_;
    case PatternKind::kRandomTraversal:
      return random_traversal_misses(window);
    case PatternKind::kRandomAccess: {
      const double items = static_cast<double>(pattern_.region.items);
      double sum = 0;
      for (const LineGroup& group : groups_) {
        const double chance = group.items / items, uses = accesses_ * window;
        sum += group.lines * (ever(chance, uses) + accesses_ * (1 - window) * chance * never(chance, uses));
      }
      return sum;
    }
    case PatternKind::kNested: {
      const double cursors = pattern_.cursors, moves = accesses_ * window;
      const double gone = pattern_.at_random ? never(1 / cursors, moves) : (moves < cursors ? 1.0 : 0.0);
      return footprint_ + (visits_ - footprint_) * gone;
    }
  }
  return 0;
}

double Shape::random_traversal_misses(double window) const {
  const double times = static_cast<double>(pattern_.times);
  const double passes = std::min(1.0, window * times);
  double sum = 0;
  for (const LineGroup& group : groups_) {
    // The uses of a line within one traversal are spread evenly: the gap between two of them is longer than
    // the window with this chance.
    const double gone = never(passes, group.items);
    // The last use in one traversal and the first in the next: what was touched since is the product of two
    // of these.
    const double gone_between = gone > 0 ? gone - gone * std::log(gone) : 0;
    sum += group.lines * (1 + times * (group.items - 1) * gone + (times - 1) * gone_between);
  }
  return sum;
}

double Shape::least_misses(double lines) const {
  const double times = static_cast<double>(pattern_.times);
  if (!pattern_.allocates || footprint_ == 0) return misses(0);
  const double stay = std::clamp(lines, 0.0, footprint_);
  switch (pattern_.kind) {
    case PatternKind::kSequential:
      return footprint_ + (times - 1) * (footprint_ - stay);
    case PatternKind::kConditional:
      return footprint_;
    case PatternKind::kRandomTraversal:
      return least_of_random_traversal(stay);
    case PatternKind::kRandomAccess: {
      // Nobody has to give a line back before the cache is full, and then the hottest lines stay.
      const double window = window_for(stay, [this](double share) { return distinct(share); });
      const double per_access = items_beside(stay) / static_cast<double>(pattern_.region.items);
      return distinct(window) + accesses_ * (1 - window) * per_access;
    }
    case PatternKind::kNested:
      return least_of_nested(lines);
  }
  return 0;
}

double Shape::least_of_random_traversal(double lines) const {
  const double times = static_cast<double>(pattern_.times);
  const double visits = visits_ / times;  // of one traversal
  const double first = std::max(0.0, visits - savings_.first(lines));
  const double later = std::max(0.0, visits - savings_.later(lines));
  return std::max(footprint_, first + (times - 1) * later);
}

// A line that is full needs no space any more. So a line of space can serve one cursor or another all the
// time, and it saves one visit for each move of the cursor that it serves. Cursors that are drawn do not end
// together, and those that are served may be the ones that end last. Their ends are sums of random waits, and
// Chernoff's bound says by how much the mean of the last ones exceeds that of all.
double Shape::least_of_nested(double lines) const {
  const double cursors = pattern_.cursors, served = std::min(lines, cursors);
  if (served <= 0) return visits_;
  const double moves = accesses_ / cursors, rarity = std::log(cursors / served);
  const double more = pattern_.at_random ? std::sqrt(2 * moves * rarity) + rarity : 0;
  return std::max(footprint_, visits_ - served * (moves + more));
}

// Items on all lines but those `lines` that have most of them. Not the difference of two sums, which would
// lose small numbers beside large ones.
double Shape::items_beside(double lines) const {
  double left = region_lines_ - lines, sum = 0;
  for (const LineGroup& group : groups_) {
    const double taken = std::clamp(left, 0.0, group.lines);
    sum += taken * group.items;
    left -= taken;
  }
  return sum;
}

double Shape::lines_read(double fetched, bool fills_on_write) const {
  if (pattern_.reads || (fills_on_write && pattern_.allocates)) return fetched;
  switch (pattern_.kind) {
    case PatternKind::kSequential:
    case PatternKind::kConditional:
      return 0;
    case PatternKind::kNested:
      return std::max(0.0, fetched - footprint_);  // lines that were given back before they were full
    case PatternKind::kRandomTraversal:
    case PatternKind::kRandomAccess:
      return covers_lines() ? 0 : fetched;
  }
  return fetched;
}

// Whether each access overwrites whole lines and nothing else.
bool Shape::covers_lines() const {
  const std::uint32_t used = pattern_.used_bytes == 0 ? pattern_.region.item_bytes : pattern_.used_bytes;
  return used % line_bytes_ == 0 && pattern_.region.item_bytes % line_bytes_ == 0;
}

}  // namespace tailor::traffic
