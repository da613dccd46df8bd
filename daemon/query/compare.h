// Two selections operator by operator: what is in both, what moved, what is new and what is gone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/plan_report.h"
#include "proto/base/result.h"
#include "proto/base/sha256.h"

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
  PlanReport a, b;
  bool same_plan = false;                   // the trees of operators are the same
  std::vector<ComparedOperator> operators;  // in the order of a's tree; what is new after it
  std::vector<ComparedRest> rest;           // with `operators` everything of both sides
};

// Of each operator of a drawn tree: what it is and what lies on the way from the root to it, as a digest. A
// plan may be as deep as its sender likes.
std::vector<Sha256Digest> operator_paths(const std::vector<OperatorRow>& operators);

// Whether the 95 % intervals of two shares do not overlap.
bool differs(const Share95& a, const Share95& b);

// The most expensive plans of both reports are compared; operators match by kind and what they work on (their
// attributes, estimates apart), best by the path to them.
Comparison compare(PlanReport a, PlanReport b);

}  // namespace tailor::query
