#include "compiler/weft/plan/rewrite.h"

#include <algorithm>

#include "compiler/weft/plan/print.h"

namespace tailor::weft {

void collect_ius(const Expr& expr, IuSet* ius) {
  if (expr.kind() == ExprKind::kIu) ius->insert(as<IuExpr>(expr).iu);
  collect_ius(expr.children, ius);
}

void collect_ius(const std::vector<ExprPtr>& exprs, IuSet* ius) {
  for (const ExprPtr& e : exprs) collect_ius(*e, ius);
}

IuSet ius_of(const Expr& expr) {
  IuSet ius;
  collect_ius(expr, &ius);
  return ius;
}

bool is_subset(const IuSet& part, const IuSet& whole) {
  return std::includes(whole.begin(), whole.end(), part.begin(), part.end(), IuLess());
}

bool intersects(const IuSet& a, const IuSet& b) {
  return std::any_of(a.begin(), a.end(), [&](const Iu* iu) { return b.contains(iu); });
}

void replace_nodes(ExprPtr* expr, const std::function<ExprPtr(const Expr&)>& replacement) {
  if (ExprPtr other = replacement(**expr)) {
    *expr = std::move(other);
    return;
  }
  for (ExprPtr& child : (*expr)->children) replace_nodes(&child, replacement);
}

void replace_ius(ExprPtr* expr, const IuMapping& mapping) {
  replace_nodes(expr, [&](const Expr& e) -> ExprPtr {
    if (e.kind() != ExprKind::kIu) return nullptr;
    auto found = mapping.find(as<IuExpr>(e).iu);
    if (found == mapping.end()) return nullptr;
    auto copy = std::make_unique<IuExpr>(found->second);
    return copy;
  });
}

std::string identity_of(const Expr& e) {
  if (e.kind() == ExprKind::kIu) return "#" + std::to_string(as<IuExpr>(e).iu->id);
  // The node without its operands: its printed form would name units, so only constants are printed.
  std::string text = std::to_string(static_cast<int>(e.kind())) + to_string(e.type);
  switch (e.kind()) {
    case ExprKind::kConstant:
      text += to_string(e);
      break;
    case ExprKind::kArithmetic:
      text += std::to_string(static_cast<int>(as<ArithmeticExpr>(e).op));
      break;
    case ExprKind::kCompare:
      text += std::to_string(static_cast<int>(as<CompareExpr>(e).op)) +
              (as<CompareExpr>(e).null_equal ? "n" : "");
      break;
    case ExprKind::kLike:
      text += "'" + as<LikeExpr>(e).pattern.text + "'";
      break;
    case ExprKind::kInList:
      for (const Value& value : as<InListExpr>(e).values) text += to_string(value) + ",";
      break;
    case ExprKind::kSubstring:
      text += std::to_string(as<SubstringExpr>(e).start) + ":" + std::to_string(as<SubstringExpr>(e).length);
      break;
    case ExprKind::kBurn:
      text += std::to_string(as<BurnExpr>(e).rounds) + (as<BurnExpr>(e).call ? "c" : "i");
      break;
    default:
      break;
  }
  std::vector<std::string> operands;
  for (const ExprPtr& child : e.children) operands.push_back(identity_of(*child));
  bool commutes = e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr;
  if (e.kind() == ExprKind::kArithmetic) {
    ArithmeticOp op = as<ArithmeticExpr>(e).op;
    commutes = op == ArithmeticOp::kAdd || op == ArithmeticOp::kMultiply;
  }
  if (e.kind() == ExprKind::kCompare) {
    CompareOp op = as<CompareExpr>(e).op;
    commutes = op == CompareOp::kEqual || op == CompareOp::kNotEqual;
  }
  if (commutes) std::sort(operands.begin(), operands.end());
  for (const std::string& operand : operands) text += "(" + operand + ")";
  return text;
}

bool null_if_null(const Expr& e, const IuSet& ius) {
  auto any_child = [&] {
    return std::any_of(e.children.begin(), e.children.end(),
                       [&](const ExprPtr& child) { return null_if_null(*child, ius); });
  };
  switch (e.kind()) {
    case ExprKind::kIu:
      return ius.contains(as<IuExpr>(e).iu);
    case ExprKind::kConstant:
      return as<ConstantExpr>(e).value.null;
    case ExprKind::kCompare:
      return !as<CompareExpr>(e).null_equal && any_child();
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return std::all_of(e.children.begin(), e.children.end(),
                         [&](const ExprPtr& child) { return null_if_null(*child, ius); });
    case ExprKind::kCase:
    case ExprKind::kIsNull:
      return false;
    default:
      return any_child();
  }
}

bool rejects_nulls(const Expr& e, const IuSet& ius) {
  if (null_if_null(e, ius)) return true;
  auto rejects = [&](const ExprPtr& child) { return rejects_nulls(*child, ius); };
  if (e.kind() == ExprKind::kAnd) return std::any_of(e.children.begin(), e.children.end(), rejects);
  if (e.kind() == ExprKind::kOr) return std::all_of(e.children.begin(), e.children.end(), rejects);
  // "x is not null"
  return e.kind() == ExprKind::kNot && e.children[0]->kind() == ExprKind::kIsNull &&
         null_if_null(*e.children[0]->children[0], ius);
}

}  // namespace tailor::weft
