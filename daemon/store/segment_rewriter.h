// Writes a sealed segment anew, without what some processes have in it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "daemon/os/files.h"
#include "daemon/store/catalogue.h"
#include "proto/base/result.h"

namespace tailor::store {

struct RewrittenSegment {
  std::uint64_t bytes = 0, samples = 0;  // that it has now
};

// Everything else stays: of these processes too, what is known of each and the counts of its samples. The
// segment says how much was removed from it. It is replaced as a whole, and whoever reads it meanwhile goes
// on with the former one. Where this fails, it stays as it was: also where it is damaged, or holds what only
// a newer program knows.
Result<RewrittenSegment> rewrite_without(const std::string& directory, const SegmentRow& segment,
                                         const std::set<ProcessId>& processes, os::Files& files);

// Removes what a program that was killed meanwhile left.
void remove_half_written(const std::string& directory, os::Files& files);

}  // namespace tailor::store
