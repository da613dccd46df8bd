// How a walk ends is a word of profiles, too: they count it.
#pragma once

#include "daemon/profile/walk_end.h"

namespace tailor::unwind {

using profile::key_of;
using profile::kWalkEnds;
using profile::WalkEnd;

}  // namespace tailor::unwind
