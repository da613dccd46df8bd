// Times in which processes were not sampled, because somebody asked for that.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/sums/costs.h"

namespace tailor::query {

// Those that concern the selection: of its process, or while one of its executions ran. Without either, all.
std::vector<profile::Pause> pauses_of(const Profile& profile, const Selection& selection);

// "process 12 was not sampled from 14:00:01 to 14:02:05: paused", several one after the other; "" for none.
std::string pauses_text(const profile::RecordingInfo& recording, const std::vector<profile::Pause>& pauses);

}  // namespace tailor::query
