// What a cache that replaces the least recently used line reads and writes for a plan: the working-set form
// of the model.
//
// Section 7.2 of the thesis ("Read-Write Traffic Model") with these differences:
// - Patterns of one phase share the cache as in shape.h, and not by equation 7.5.
// - The state between phases is a stack: the lines that were used last lie on top. Lines leave it at the
//   bottom, and modified ones are written back then (7.14 to 7.16: M^TWB and WWB). A write-back counts for
//   the pattern that modified the line last.
// - In a phase, lines that a pattern modifies are written back unless they are still there at its end (7.12:
//   M^SSW).
//
// Not in the model: sets with few ways, prefetching, several threads, and how accesses to one region are
// skewed or clustered.
#pragma once

#include <vector>

#include "proto/traffic/pattern.h"

namespace tailor::traffic {

// In lines, as expected numbers.
struct PatternTraffic {
  double fetched = 0;  // misses: lines that were not there
  double read = 0;     // of them, those that are read from below
  double written = 0;  // lines that it modified last and that were written back, in its phase or later
  double kept = 0;     // lines of its own in the cache at the end of its phase
};

struct Estimate {
  std::vector<std::vector<PatternTraffic>> phases = {};  // as the phases and patterns that were given
  // Lines that were still modified in the cache at the end. With kWrittenBack they are in `written`, too.
  double modified = 0;

  double lines_read() const;
  double lines_written() const;
};

// Work: some thousand steps for a phase of a few patterns, and the phases' number times the number of regions
// that are cached. Pure; any thread. Errors: as check().
Result<Estimate> estimate(const Cache& cache, std::span<const Phase> phases, Ending ending);

}  // namespace tailor::traffic
