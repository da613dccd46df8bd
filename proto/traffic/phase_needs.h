// From the lines that a phase moves to what it needs of a machine: the miss vector of section 7.1, which
// distinguishes random from sequential transfers, and the accesses of level ConstRate (7.3).
#pragma once

#include <span>

#include "proto/traffic/estimate.h"
#include "proto/traffic/pattern.h"
#include "proto/traffic/roofline.h"

namespace tailor::traffic {

// What a phase needs that moves `traffic`, which has an entry for each of its patterns. `cycles` are those of
// its computation. NaN: they are not known, and bounds_of() says so. Lines of random traversals and accesses
// count as random. Those of all other patterns are in order, also where they lie in several parts.
// Write-backs count for the phase that modified the lines, also if they happen later.
//
// check() has accepted the phase. Aborts if `traffic` has another number of entries. Pure; any thread.
Needs needs_of(const Phase& phase, std::span<const PatternTraffic> traffic, std::uint32_t line_bytes,
               double cycles);

}  // namespace tailor::traffic
