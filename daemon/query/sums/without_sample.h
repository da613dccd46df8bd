// Executions of which a profile has no sample: most of those that are shorter than the time between two
// samples.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

// How many executions of the selection have no sample of the source, by plan. Runs that were added up count
// one by one. Executions that are not drawn cannot have a sample, and workers are a part of their leader:
// neither counts. Nothing where the profile cannot tell: it has some of its samples only, is damaged, or
// lacks a part of what its processes said.
std::optional<std::map<InProcess<PlanId>, std::uint64_t>> executions_without_sample(
    const Profile& profile, const Selection& selection, std::uint16_t source);

}  // namespace tailor::query
