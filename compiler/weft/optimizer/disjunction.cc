#include "compiler/weft/optimizer/disjunction.h"

#include <map>

#include "compiler/weft/plan/make.h"

namespace tailor::weft {

std::vector<ExprPtr> factor_out(ExprPtr predicate) {
  std::vector<ExprPtr> result;
  if (predicate->kind() != ExprKind::kOr) {
    split_conjuncts(std::move(predicate), &result);
    return result;
  }
  std::vector<std::vector<ExprPtr>> branches;
  std::map<std::string, std::size_t> seen;  // identity -> number of branches that have it
  for (ExprPtr& branch : predicate->children) {
    branches.emplace_back();
    split_conjuncts(std::move(branch), &branches.back());
    std::map<std::string, bool> own;
    for (const ExprPtr& e : branches.back()) own[identity_of(*e)] = true;
    for (const auto& [identity, unused] : own) ++seen[identity];
  }
  std::map<std::string, bool> taken;
  std::vector<ExprPtr> rest;
  for (auto& branch : branches) {
    std::vector<ExprPtr> kept;
    for (ExprPtr& e : branch) {
      std::string identity = identity_of(*e);
      if (seen[identity] < branches.size()) {
        kept.push_back(std::move(e));
      } else if (!taken[identity]) {
        taken[identity] = true;
        result.push_back(std::move(e));
      }
    }
    rest.push_back(kept.empty() ? make_constant(Value::boolean(true))
                                : make_logic(ExprKind::kAnd, std::move(kept)));
  }
  split_conjuncts(make_logic(ExprKind::kOr, std::move(rest)), &result);
  return result;
}

ExprPtr implied_for(const Expr& predicate, const IuSet& ius) {
  if (predicate.kind() != ExprKind::kOr) return nullptr;
  std::vector<ExprPtr> branches;
  for (const ExprPtr& branch : predicate.children) {
    std::vector<ExprPtr> conjuncts, own;
    split_conjuncts(branch->clone(), &conjuncts);
    for (ExprPtr& e : conjuncts) {
      IuSet used = ius_of(*e);
      if (!used.empty() && is_subset(used, ius)) own.push_back(std::move(e));
    }
    if (own.empty()) return nullptr;
    branches.push_back(make_logic(ExprKind::kAnd, std::move(own)));
  }
  return make_logic(ExprKind::kOr, std::move(branches));
}

}  // namespace tailor::weft
