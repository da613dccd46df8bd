// What samples and executions came to by the hour, and later by the day: what stays of them for months when
// their segments are deleted.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "daemon/profile/source.h"
#include "daemon/store/cost_sum.h"
#include "daemon/store/elapsed_buckets.h"

namespace tailor::store {

// Hours since 1970 UTC, by the wall clock.
using Hour = std::int64_t;
inline constexpr std::uint64_t kHourNs = 3'600'000'000'000;
inline constexpr Hour kDayHours = 24;
inline Hour day_of(Hour hour) {
  return hour - hour % kDayHours;
}

// Stored: never renumber.
enum class CostOf : std::uint8_t { kOperator = 0, kComponent = 1, kUnattributed = 2 };

struct CostKey {
  Hour hour = 0;
  std::optional<std::uint32_t> uid;  // of the user who ran it; nothing: not known
  std::string fingerprint;           // "": outside of executions
  CostOf what = CostOf::kOperator;
  std::uint32_t id = 0;  // of an operator in its plan, else 0
  std::string name;      // of the unattributed its reason
  std::string kind;      // of an operator
  std::string source;    // the event
  profile::Unit unit = profile::Unit::kNsOnCpu;
  // The shape of the plan that the operator is of; 0: of no plan. Nothing: not known, or of several.
  std::optional<std::uint64_t> plan = {};
  auto operator<=>(const CostKey&) const = default;
};

struct RunKey {
  Hour hour = 0;  // in which they ended
  std::optional<std::uint32_t> uid;
  std::string fingerprint;
  auto operator<=>(const RunKey&) const = default;
};

// Executions that ended; elapsed times in ns. What exceeds a field stays at its greatest value.
struct RunSum {
  std::uint64_t executions = 0, failed = 0;
  std::uint64_t elapsed_sum = 0;
  std::uint64_t elapsed_min = UINT64_MAX, elapsed_max = 0;
  // Of those that older programs summed up none; none either where they are more than a number can say.
  ElapsedBuckets elapsed = {};
  std::uint64_t rows_known = 0, rows = 0;  // executions whose rows are known, and how many rows these are
  // Of `executions`, those whose elapsed time is not known (profile::is_untimed): it is in none of the times.
  std::uint64_t untimed = 0;
  // Executions without samples, because a share of them was sampled: no cost is of these. Older programs
  // counted none.
  std::uint64_t not_drawn = 0;

  std::uint64_t timed() const { return executions - untimed; }
  // Those that the costs are of.
  std::uint64_t sampled() const { return executions - std::min(executions, not_drawn); }
};

// Samples of an hour, of the whole host, that are in no sum.
struct HourLoss {
  std::uint64_t lost_ring = 0, lost_hardware = 0, late = 0;
  std::uint64_t unwritten = 0;  // a full disk, damage
};

// By user: what one says of a fingerprint is not shown to another.
struct QueryKey {
  std::optional<std::uint32_t> uid;
  std::string fingerprint;
  auto operator<=>(const QueryKey&) const = default;
};

struct QueryNames {
  std::string name, text;  // of the plan; of the query, without literals
};

// Sums of one unit and event can be added, others never are.
struct Summary {
  // The data segments in it: all of the store with numbers from `first` to `last`. 0: none.
  std::uint64_t first = 0, last = 0;
  // The begin of a day. Rows before it are of whole days, and have the first hour of theirs.
  Hour days_until = 0;
  std::map<CostKey, CostSum> costs;
  std::map<RunKey, RunSum> runs;
  std::map<Hour, HourLoss> losses;
  std::map<QueryKey, QueryNames> queries;

  // Of a row with this hour.
  Hour hours_of_row(Hour hour) const { return hour < days_until ? kDayHours : 1; }
};

void add(RunSum& to, const RunSum& from);
void add(HourLoss& to, const HourLoss& from);
// Adds all sums; `to` then has the segments of both, which must follow each other.
void add(Summary& to, const Summary& from);
// Makes days of the hours before the begin of the day of `until`. No sum over a day changes.
void roll_up(Summary& summary, Hour until);

// What is kept of an hour.
struct SummaryLimits {
  std::size_t queries = 1000;         // the most expensive ones
  std::size_t rows_of_a_query = 256;  // the most expensive ones
};
// The fingerprint, or the name, of all that has no row of its own any more: the sums are those of all of it.
inline constexpr const char* kOther = "(other)";
// Adds up what is beyond the limits. No sum over an hour, event and class changes.
Summary bounded(const Summary& summary, const SummaryLimits& limits = {});

}  // namespace tailor::store
