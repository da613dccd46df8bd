// Plans that are one tree of operators, wherever and however often an engine registered it.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "proto/base/sha256.h"

namespace tailor::query {

// Of each operator what it is, whatever its number, its estimates and its counts: name, kind and attributes.
std::vector<Sha256Digest> operator_identities(const std::vector<OperatorRow>& operators);

// Of each operator of a drawn tree: what it is and what lies on the way from the root to it, as a digest. A
// plan may be as deep as its sender likes.
std::vector<Sha256Digest> operator_paths(const std::vector<OperatorRow>& operators);

// Plans of a profile that are one tree: of all trees in the report the most expensive one. An engine may
// register a plan for each execution, and short ones have no sample: so plans without a cost belong to it
// too. One thread.
class MainPlans {
 public:
  // `profile` must outlive it.
  MainPlans(const Profile& profile, const PlanReport& report);
  bool contains(const InProcess<PlanId>& plan);

 private:
  const Profile& profile_;
  std::optional<std::vector<Sha256Digest>> tree_;  // nothing: the report has no plan
  std::map<InProcess<PlanId>, bool> known_;
};

// Makes one plan of those that are one tree: costs are sums. The most expensive one is first. Estimates and
// counts of operators stay where all of them say the same.
void unite_plans(PlanReport& report);

}  // namespace tailor::query
