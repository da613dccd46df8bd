// Records of the activity logs <-> ActivityBlock.
#pragma once

#include <span>
#include <vector>

#include "daemon/profile/sink.h"
#include "proto/base/result.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

// At most kMaxBlockRows records. The same records always give the same message.
v1::ActivityBlock encode_activity(std::span<const profile::ActivityRecord> records);

// Fails, saying which rule is broken, on any block that encode_activity could not have made.
Result<std::vector<profile::ActivityRecord>> decode_activity(const v1::ActivityBlock& block);

}  // namespace tailor::store
