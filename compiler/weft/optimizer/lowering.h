// The inside of lower(): one function per logical kind.
#pragma once

#include "compiler/weft/optimizer/options.h"
#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

class Lowering {
 public:
  Lowering(IuPool* ius, const PlannerOptions& options) : ius_(*ius), options_(options) {}

  // An operator tree that produces `required` (what of it the node has).
  OperatorPtr lower(LogicalPtr node, const IuSet& required);

 private:
  // The two sides of an equality between the inputs of a join, and whether null equals null.
  struct Condition {
    std::vector<HashJoin::Key> keys;  // build: of inputs[0], probe: of inputs[1] of the logical join
    std::vector<ExprPtr> residual;
  };

  OperatorPtr lower_get(const Logical& node, std::vector<ExprPtr> conjuncts, const IuSet& required);
  OperatorPtr lower_select(Logical* node, const IuSet& required);
  OperatorPtr lower_map(Logical* node, const IuSet& required);
  OperatorPtr lower_sort(Logical* node, const IuSet& required);

  // lower_join.cc
  OperatorPtr lower_join(Logical* node, const IuSet& required);
  Condition split_condition(Logical* join);
  const Iu* key_unit(ExprPtr side, LogicalPtr* input);
  bool builds_left(const Logical& join, bool has_keys) const;

  // lower_group.cc
  OperatorPtr lower_group(Logical* node, const IuSet& required);
  OperatorPtr lower_group_by(Logical* node, const IuSet& required);
  OperatorPtr try_groupjoin(Logical* node, const IuSet& required);
  std::vector<Aggregate> lower_aggregates(Logical* node, const IuSet& required);

  IuPool& ius_;
  const PlannerOptions& options_;
};

// Fills what all operators have: outputs (of `required`, what is available) and row counts.
void describe(Operator* op, const Logical& node, const IuSet& required);

}  // namespace tailor::weft
