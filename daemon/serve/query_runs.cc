#include "daemon/serve/query_runs.h"

#include <algorithm>
#include <utility>

namespace tailor::serve {

// The clocks of different recordings cannot be compared: the newest one that has samples counts.
void QueryRuns::begin(const store::ExecutionRow& row) {
  left_out_ += taken_;
  taken_ = 0;
  recording_ = row.recording;
  oldest_ns_ = newest_ns_ = row.wall_begin_ns;
}

void QueryRuns::add(const store::ExecutionRow& row) {
  const bool other = taken_ > 0 && row.recording != recording_;
  if (is_full() || (other && sampled_ > 0)) {
    ++left_out_;
    return;
  }
  if (other || taken_ == 0) begin(row);
  ++taken_;
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
