// Executions whose samples retention has deleted: what stays of them in a store, sums by hour and query.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/summary.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

struct ExecutionFilter;

// One query in one hour, or in one day of those that are old.
struct GoneRow {
  store::Hour hour = 0;
  std::string fingerprint;
  store::QueryNames names;
  store::RunSum runs;  // those that ended in this hour
  store::CostSum cpu;  // of sources that measure time on CPU
  store::Hour hours = 1;
};
struct GoneList {
  std::vector<GoneRow> rows;  // newest first, then by cost
  bool more = false;          // there are further ones
};

// All rows of a list together.
struct GoneSum {
  std::uint64_t executions = 0, failed = 0;
  std::uint64_t drawn = 0;  // of `executions`: the costs are of these (RunSum::sampled())
  store::CostSum cpu;
  bool more = false;                     // there are further rows, which are not in it
  std::uint64_t from_ns = 0, to_ns = 0;  // the hours, CLOCK_REALTIME: [from, to)
};
GoneSum sum_of(const GoneList& list);

// Whether the asker may see sums of that user; empty: all.
using SeesUser = std::function<bool(const std::optional<std::uint32_t>& uid)>;

// False where the filter asks for what sums do not know: process, labels, elapsed time.
bool sums_know(const ExecutionFilter& filter);

// What of the filter sums know, by whole hours; at most filter.limit rows. Reads the newest summaries first,
// and no more of them than it shows.
Result<GoneList> gone_executions(const std::string& directory, const ExecutionFilter& filter,
                                 const SeesUser& sees, const Stop& stop);

}  // namespace tailor::serve
