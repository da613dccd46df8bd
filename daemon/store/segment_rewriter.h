// Writes a sealed segment anew, without what some processes have in it.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "daemon/os/files.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/result.h"

namespace tailor::store {

struct RewrittenSegment {
  std::uint64_t bytes = 0, samples = 0;  // that it has now
  std::uint64_t removed_samples = 0;     // this time
};

// Writes the new one beside it, durably, which takes seconds for a large one. Everything else stays: of these
// processes too, what is known of each and the counts of its samples. The segment says how much was removed
// from it. Fails where the segment is damaged, or holds what only a newer program knows, and as `may_go_on`
// does; nothing is left then. One thread at a time for a segment.
Result<RewrittenSegment> write_without(const std::string& directory, const SegmentRow& segment,
                                       const std::set<ProcessId>& processes, os::Files& files,
                                       const MayGoOn& may_go_on = {});

// Puts the new one in its place, as a whole. A reader of the former one goes on with it. Where this fails,
// the former one stays, and the new one goes.
Status replace_with_rewritten(const std::string& directory, const SegmentRow& segment, os::Files& files);
// Or removes the new one.
void drop_rewritten(const std::string& directory, const SegmentRow& segment, os::Files& files);

// Removes what a program that was killed meanwhile left.
void remove_half_written(const std::string& directory, os::Files& files);

}  // namespace tailor::store
