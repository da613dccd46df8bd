#include "compiler/weft/optimizer/unnest.h"

#include "compiler/weft/optimizer/domain.h"
#include "compiler/weft/optimizer/pull_up.h"

namespace tailor::weft {
namespace {

constexpr double kDomainAdvantage = 4;

void remove_dependence(Logical* join, IuPool* ius) {
  IuSet outer;
  IuSet left = available(*join->inputs[0]);
  for (const Iu* iu : free_units(*join->inputs[1])) {
    if (left.contains(iu)) outer.insert(iu);
  }
  if (outer.empty()) return;
  bool keeps_empty_groups = join->join != JoinKind::kSingle || !is_null_of_no_rows(*join->inputs[1]);
  Domain domain(*join->inputs[0], outer, keeps_empty_groups, ius);
  bool can_pull = can_pull_up(*join->inputs[1], outer, join->join, !join->conjuncts.empty());
  double groups = groups_when_pulled_up(*join->inputs[1], outer);
  // Grouping all of the inner relation is a waste when few bindings ask for it.
  if (can_pull && (groups == 0 || groups < kDomainAdvantage * domain.estimated_rows())) {
    pull_up(&join->inputs[1], outer, &join->conjuncts);
    return;
  }
  IuMapping mapping;
  domain.push_into(&join->inputs[1], &mapping);
  for (const Iu* iu : outer) {
    const Iu* copy = mapping.at(iu);
    bool nulls = iu->type.nullable || copy->type.nullable;
    join->conjuncts.push_back(std::make_unique<CompareExpr>(CompareOp::kEqual, std::make_unique<IuExpr>(iu),
                                                            std::make_unique<IuExpr>(copy), nulls));
  }
}

}  // namespace

// Bottom up: what stays free in a subquery of a subquery belongs to a statement further out.
void unnest(LogicalPtr* root, IuPool* ius) {
  for (auto& input : (*root)->inputs) unnest(&input, ius);
  if ((*root)->kind == LogicalKind::kJoin) remove_dependence(root->get(), ius);
}

}  // namespace tailor::weft
