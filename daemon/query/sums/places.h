// Where the samples that nobody owns were taken, by reason and function.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/sums/costs.h"

namespace tailor::query {

struct Place {
  profile::Reason reason = profile::Reason::kNone;
  bool kernel = false;  // the function is the one that had entered the kernel
  std::string where;    // "memcpy (libc.so.6)", "libc.so.6+0x1a2b", "0x7f0012345678", "unknown address"
  Amount amount;
};

// Most expensive first, `most` at most. Functions are looked up in the files the process had mapped, unless
// they were changed since.
std::vector<Place> unattributed_places(const Profile& profile, const Selection& selection,
                                       std::uint16_t source, std::size_t most);

}  // namespace tailor::query
