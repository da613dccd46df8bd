// Why a selection has no sample.
#pragma once

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::query {

// For a selection without any. Says what is known of the reason: a pause, executions that are not drawn,
// damage, executions that are too short; and what to do.
Error no_sample(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
