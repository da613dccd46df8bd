#include "daemon/serve/query_runs.h"

#include <algorithm>
#include <utility>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"

namespace tailor::serve {

ExecutionFilter in_order_of_time(ExecutionFilter filter) {
  if (!filter.since_ns && !filter.until_ns) filter.until_ns = INT64_MAX - 1;
  return filter;
}

void QueryRuns::add(const store::ExecutionRow& row) {
  const std::uint64_t runs = profile::runs_of(row.record);
  if (is_full()) {
    profile::add_bounded(left_out_, runs);
    return;
  }
  if (taken_ == 0) oldest_ns_ = newest_ns_ = row.wall_begin_ns;
  ++taken_;
  profile::add_bounded(executions_, runs);
  sampled_ += row.cost.samples > 0 ? 1 : 0;
  samples_ += row.cost.samples;
  oldest_ns_ = std::min(oldest_ns_, row.wall_begin_ns);
  newest_ns_ = std::max(newest_ns_, row.wall_begin_ns);
}

Target QueryRuns::target(ExecutionFilter filter) const {
  filter.since_ns = oldest_ns_;
  filter.until_ns = newest_ns_ + 1;
  return {Target::What::kFiltered, static_cast<std::size_t>(taken_), {}, std::move(filter)};
}

}  // namespace tailor::serve
