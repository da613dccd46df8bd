#include "daemon/serve/run_sums.h"

#include <cstdint>

#include "daemon/profile/added_runs.h"

namespace tailor::serve {

store::RunSum run_sum_of(const profile::ExecutionRecord& record) {
  const std::uint64_t runs = profile::runs_of(record);
  if (runs == 0) return {};
  const profile::RunTimes times = profile::run_times_of(record);
  store::RunSum sum{runs, profile::failed_runs_of(record), times.sum, times.shortest, times.longest};
  if (profile::is_untimed(record)) {
    sum.untimed = runs;
    sum.elapsed_min = UINT64_MAX;  // as of no execution
  } else if (record.added == nullptr) {
    sum.elapsed.add(times.sum);
  } else {
    for (const auto& [bucket, count] : record.added->buckets) sum.elapsed.put(bucket, count);
  }
  sum.rows_known = record.rows_known ? runs : 0;
  sum.rows = record.rows_known ? record.rows : 0;
  sum.not_drawn = record.drawn ? 0 : runs;
  return sum;
}

}  // namespace tailor::serve
