// A profile whose samples weigh their part of the elapsed time of their execution, for reports that say what
// made executions take so long.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::query {

// Of all executions that are judged.
struct ElapsedSum {
  std::uint64_t executions = 0;
  std::uint64_t too_short = 0;  // not judged: shorter than kLeastPeriods
  std::uint64_t not_drawn = 0;  // not judged: not sampled
  // Not judged: each is many short runs that an engine added up. Between them nobody waited.
  std::uint64_t added_up = 0;
  double elapsed_ns = 0;
  double worked_ns = 0;  // of it a thread worked, as far as samples tell
  double cpu_ns = 0;     // that samples stand for, in executions
  Cell outside;          // samples of no execution: no elapsed time is theirs

  // No thread worked, or none was sampled.
  double idle_ns() const { return elapsed_ns - worked_ns; }
};

// An execution has to be as long as this number of samples of one thread, on average.
inline constexpr double kLeastPeriods = 20;

// What one thread did of a cell in one execution, which are numbers.
struct ThreadWork {
  std::uint32_t execution = 0;
  std::uint64_t thread = 0;
  double cpu_ns = 0;
  double squares = 0;  // of the CPU time of its samples
};

struct ElapsedTime {
  Profile profile;      // its cells of `source` weigh elapsed time, and Cell::cpu is their CPU time
  Selection selection;  // of that source, with shares of everything
  ElapsedSum sum;
  std::map<CellKey, std::vector<ThreadWork>> work;  // adds up to Cell::cpu; at most one for each sample
};

// Of the part of executions that lies in [from, to). A worker is a part of its leader. `profile` must keep
// its samples, all of which count as work. Fails where the source of the selection does not measure time on
// the CPU, where samples were added up, and where no execution can be judged.
Result<ElapsedTime> elapsed_time(const Profile& profile, const Selection& selection, TimeNs from = kTimeMin,
                                 TimeNs to = kTimeMax);

}  // namespace tailor::query
