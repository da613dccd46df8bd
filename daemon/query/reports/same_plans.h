// Plans that are one tree of operators, wherever and however often an engine registered it.
#pragma once

#include <set>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "proto/base/sha256.h"

namespace tailor::query {

// Of each operator what it is, whatever its number, its estimates and its counts: name, kind and attributes.
std::vector<Sha256Digest> operator_identities(const std::vector<OperatorRow>& operators);

// Of each operator of a drawn tree: what it is and what lies on the way from the root to it, as a digest. A
// plan may be as deep as its sender likes.
std::vector<Sha256Digest> operator_paths(const std::vector<OperatorRow>& operators);

// Plans of a report that are one tree: of all such trees the most expensive one. Empty where the report has
// no plan.
std::set<InProcess<PlanId>> main_plans(const PlanReport& report);

// Makes one plan of those that are one tree: costs are sums. The most expensive one is first. Estimates and
// counts of operators stay where all of them say the same.
void unite_plans(PlanReport& report);

}  // namespace tailor::query
