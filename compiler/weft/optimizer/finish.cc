#include "compiler/weft/optimizer/finish.h"

#include <algorithm>

namespace tailor::weft {
namespace {

bool refreshed_nullability(const Expr& e) {
  auto any =
      std::any_of(e.children.begin(), e.children.end(), [](const ExprPtr& c) { return c->type.nullable; });
  switch (e.kind()) {
    case ExprKind::kIu:
      return as<IuExpr>(e).iu->type.nullable;
    case ExprKind::kConstant:
      return as<ConstantExpr>(e).value.null;
    case ExprKind::kCompare:
      return any && !as<CompareExpr>(e).null_equal;
    case ExprKind::kIsNull:
      return false;
    case ExprKind::kCase: {
      bool result = e.children.back()->type.nullable;
      for (std::size_t i = 1; i < e.children.size(); i += 2) result |= e.children[i]->type.nullable;
      return result;
    }
    case ExprKind::kArithmetic:
      return any || (as<ArithmeticExpr>(e).op == ArithmeticOp::kDivide && e.children[1]->range.contains(0));
    default:
      return any;
  }
}

void refresh(Expr* e) {
  for (ExprPtr& child : e->children) refresh(child.get());
  e->type.nullable = refreshed_nullability(*e);
}

void refresh_all(std::vector<ExprPtr>* exprs) {
  for (ExprPtr& e : *exprs) refresh(e.get());
}

// Bottom up, so that computed units are settled before expressions above use them.
void refresh_operator(Operator* op) {
  for (auto& input : op->inputs) refresh_operator(input.get());
  switch (op->kind()) {
    case OperatorKind::kScan:
      return refresh_all(&as<Scan>(*op).conjuncts);
    case OperatorKind::kFilter:
      return refresh_all(&as<Filter>(*op).conjuncts);
    case OperatorKind::kHashJoin:
      return refresh_all(&as<HashJoin>(*op).residual);
    case OperatorKind::kMap:
      for (auto& c : as<Map>(*op).computations) {
        refresh(c.expr.get());
        // The plan's units are still being shaped here, and this is their only owner.
        const_cast<Iu*>(c.iu)->type.nullable |= c.expr->type.nullable;
      }
      return;
    default:
      return;
  }
}

void number(Operator* op, std::uint32_t* next) {
  op->id = ++*next;
  for (auto& input : op->inputs) number(input.get(), next);
}

}  // namespace

void finish(Plan* plan) {
  refresh_operator(plan->root.get());
  plan->operator_count = 0;
  number(plan->root.get(), &plan->operator_count);
}

}  // namespace tailor::weft
