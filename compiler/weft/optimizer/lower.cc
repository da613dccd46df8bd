#include "compiler/weft/optimizer/lower.h"

#include "compiler/weft/optimizer/finish.h"
#include "compiler/weft/optimizer/lowering.h"

namespace tailor::weft {

Plan lower(Query query, const PlannerOptions& options) {
  Plan plan;
  plan.ius = std::move(query.ius);
  plan.root = std::make_unique<Output>();
  plan.root->names = std::move(query.names);
  plan.root->outputs = query.columns;
  IuSet required(query.columns.begin(), query.columns.end());
  plan.root->inputs.push_back(Lowering(&plan.ius, options).lower(std::move(query.root), required));
  plan.root->estimated_rows = plan.root->inputs[0]->estimated_rows;
  plan.root->max_rows = plan.root->inputs[0]->max_rows;
  finish(&plan);
  return plan;
}

}  // namespace tailor::weft
