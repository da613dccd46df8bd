// The general way to remove correlation: joining the subquery with the domain of its outer references.
#pragma once

#include "compiler/weft/plan/logical.h"

namespace tailor::weft {

// Makes distinct sets of the values that `outer` units can have: a superset of those in `left`, computed by a
// renamed copy of the smallest part of it that provides them.
class Domain {
 public:
  // `keeps_empty_groups`: a grouping without keys has to yield its row also for bindings without rows.
  Domain(const Logical& left, IuSet outer, bool keeps_empty_groups, IuPool* ius)
      : left_(left), outer_(std::move(outer)), keeps_empty_groups_(keeps_empty_groups), ius_(*ius) {}

  // Rows of one set, estimated.
  double estimated_rows() const;

  // Removes the outer references from `node`, which afterwards provides a copy of each: `mapping` tells
  // which.
  void push_into(LogicalPtr* node, IuMapping* mapping);

 private:
  LogicalPtr instance(IuMapping* mapping) const;
  void join_with_domain(LogicalPtr* node, IuMapping* mapping) const;
  void push_into_join(LogicalPtr* node, IuMapping* mapping);
  void push_into_group(LogicalPtr* node, IuMapping* mapping);
  std::vector<ExprPtr> equalities(const IuMapping& a, const IuMapping& b) const;

  const Logical& left_;
  IuSet outer_;
  bool keeps_empty_groups_;
  IuPool& ius_;
};

}  // namespace tailor::weft
