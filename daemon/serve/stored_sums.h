// The sums of a store: how old samples become some, and what all of it comes to.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "daemon/query/load/damage.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/summary.h"
#include "daemon/store/summary_files.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

// Sums up the first batch of `due`, which are the oldest data segments of the store and not empty, and keeps
// the sums. Gives the number up to which data segments are summed up durably now: they may be removed.
Result<std::uint64_t> sum_up(const std::string& directory, std::span<const store::SegmentRow> due,
                             store::SummaryWriter& writer, const store::SummaryRetention& retention,
                             const Stop& stop);

// All sums of a store for the hours that [since, until) touches, CLOCK_REALTIME in ns: of what is summed up,
// and of the samples of what is not. A writer may be at work. `damage`, if it is there, gets what of these
// samples is damaged.
Result<store::Summary> sums_of_store(const std::string& directory, const store::WallRange& range,
                                     const Stop& stop, query::StoreDamage* damage = nullptr);

}  // namespace tailor::serve
