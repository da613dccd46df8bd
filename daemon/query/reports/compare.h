// Two selections operator by operator: what is in both, what moved, what is new and what is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "daemon/query/reports/same_plans.h"

namespace tailor::query {

enum class Change { kMatched, kMoved, kNew, kGone };
// "matched", "moved", "new", "gone".
std::string_view name_of(Change change);

// An operator of one of the two sides.
struct ComparedSide {
  ProcessId process;
  PlanId plan = 0;
  OperatorRow row;
};

struct ComparedOperator {
  Change change = Change::kMatched;
  std::optional<ComparedSide> a, b;
};

struct ComparedRest {
  std::string key, name;  // "components", "unattributed"
  Share95 a, b;
};

struct Comparison {
  PlanReport a, b;  // their first plan is what is compared
  // Of the plans that are compared, with samples or without: what costs of one execution are parts of. Where
  // a share of the executions is sampled, those of the share. compare() knows those with samples only; 0:
  // none is known.
  std::uint64_t executions_a = 0, executions_b = 0;
  bool same_plan = false;  // the trees of operators are the same
  // False only where sums are compared (serve/compare_sums.h). Whether the plans are the same: not known
  // where sums are of an older program, of several plans or of none. How sure costs are: not known of an
  // older program, nor where a share of the executions is sampled. What of the costs is in kernel mode or
  // inferred: not known of an older program.
  bool plans_known = true, intervals_known = true, details_known = true;
  // False where an execution that is compared stands for runs that were added up, and nobody knows how many:
  // then what one run costs is not known.
  bool runs_known = true;
  std::vector<ComparedOperator> operators;  // in the order of a's tree; what is new after it
  std::vector<ComparedRest> rest;           // with `operators` everything of both sides
};

// By what the costs of a side are divided; 1 where no execution is known.
inline double parts_of(std::uint64_t executions) {
  return executions == 0 ? 1 : static_cast<double>(executions);
}

// Whether the 95 % intervals of two shares do not overlap.
bool differs(const Share95& a, const Share95& b);

// The main plans of both reports are compared, each side added up; operators match by kind and what they work
// on (their attributes, estimates apart), best by the path to them.
Comparison compare(PlanReport a, PlanReport b);

}  // namespace tailor::query
