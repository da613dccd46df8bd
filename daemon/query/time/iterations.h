// The iterations of a dataflow loop. The plan is the same in all of them, so only time separates them
// (paper: section 4.2.6): by the marks of the engine (tailor_mark_iteration), else by the times of the
// samples.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::query {

struct Iteration {
  std::uint64_t number = 0;  // as the engine counts; from 1 where it was found in the samples
  TimeNs from = 0, to = 0;   // [from, to)
};

// One loop of one execution.
struct Loop {
  InProcess<ExecutionHandle> execution;
  ComponentId component = kNoComponent;  // of the top level, as marked; none: found in the samples
  std::string name;                      // of the component; may be hostile
  bool marked = false;
  std::vector<Iteration> iterations;  // by time. Of threads that mark nothing: each begins where the first
                                      // thread begins it
  std::map<std::int32_t, std::vector<Iteration>> of_thread;  // of threads with marks of their own

  // Where the thread was; null outside of the loop.
  const Iteration* at(std::int32_t tid, TimeNs time) const;
  // How much iterations differ in length from those around them: nine of ten by at most this part of the
  // median of five. Without the first and the last, which hold what is around the loop; 0 of less than five.
  double spread() const;
  bool has_spread() const { return iterations.size() >= 5; }
  // As long as half of the iterations at least, and the others at most; of an even number, the mean of the
  // two in the middle. 0 of none.
  double median_ns() const;
};

enum class IterationsFrom { kBest, kMarks, kSamples };

// The loops of the selected executions, in their order. kBest: from marks, and from samples for executions
// that have none. The profile must keep its samples. Fails, with the reason, if there is none.
Result<std::vector<Loop>> find_loops(const Profile& profile, const Selection& selection, IterationsFrom from);

// Only the loops of one name, or component number; all must be of one if `name` is empty. Fails with the
// names there are.
Result<std::vector<Loop>> choose_loops(std::vector<Loop> loops, const std::string& name);

// The samples of iteration `number` of the loops. Fails, with the numbers there are, if no loop has it.
Result<Profile> only_iteration(const Profile& profile, const std::vector<Loop>& loops, std::uint64_t number);

// An iteration with its cost, all samples of its execution in it.
struct IterationRow {
  Iteration iteration;
  Cell cost;
};
// Of the samples that `keep` lets through; empty: all.
std::vector<IterationRow> iteration_rows(const Profile& profile, const Selection& selection, const Loop& loop,
                                         const std::function<bool(const TimedSample&)>& keep = {});

// Only what overlaps the time [from, to). Fails if nothing does.
Result<std::vector<Loop>> loops_between(std::vector<Loop> loops, TimeNs from, TimeNs to);

}  // namespace tailor::query
