// What one record of an execution counts as in sums over executions.
#pragma once

#include "daemon/profile/records.h"
#include "daemon/store/summary.h"

namespace tailor::serve {

// Of a record that ended. Runs that an engine added up count each, with the time that each of them took.
// Where nobody told how many there were, the record counts as one, of an unknown time.
store::RunSum run_sum_of(const profile::ExecutionRecord& record);

}  // namespace tailor::serve
