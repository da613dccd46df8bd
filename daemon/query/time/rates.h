// Times in which processes were sampled at another rate than the recording's.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/sums/costs.h"

namespace tailor::query {

// Those that concern the selection: of its process, or while one of its executions ran. Without either, all.
std::vector<profile::RateSpan> rates_of(const Profile& profile, const Selection& selection);

// "process 12 was sampled at 997 Hz from 14:00:01 to 14:02:05: tailor rate", several one after the other; ""
// for none.
std::string rates_text(const profile::RecordingInfo& recording, const std::vector<profile::RateSpan>& rates);

}  // namespace tailor::query
