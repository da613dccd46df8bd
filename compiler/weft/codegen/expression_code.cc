#include "compiler/weft/codegen/expression_code.h"

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"

namespace tailor::weft {
namespace {

SqlValue emit_constant(Compilation& c, const ConstantExpr& expr) {
  Width width = expr.width();
  if (expr.value.null) return zero_value(c, width, true);
  if (width == Width::kString) {
    return {c.ir().CreateGlobalString(expr.value.text, "text"), c.ir().getInt64(expr.value.text.size()),
            nullptr};
  }
  auto* type = llvm::cast<llvm::IntegerType>(data_type(c, width));
  std::uint64_t words[2] = {static_cast<std::uint64_t>(expr.value.integer),
                            static_cast<std::uint64_t>(static_cast<Uint128>(expr.value.integer) >> 64)};
  return {llvm::ConstantInt::get(type, llvm::APInt(128, words).trunc(type->getBitWidth())), nullptr, nullptr};
}

// A bool whose data is false where it is null.
SqlValue canonical(Compilation& c, llvm::Value* data, llvm::Value* null) {
  if (null != nullptr) data = c.ir().CreateAnd(data, c.ir().CreateNot(null));
  return {data, nullptr, null};
}

SqlValue emit_compare(Compilation& c, const CompareExpr& expr) {
  const Expr& left = *expr.children[0];
  const Expr& right = *expr.children[1];
  SqlValue a = emit_expression(c, left);
  if (expr.op == CompareOp::kEqual || expr.op == CompareOp::kNotEqual) {
    bool negated = expr.op == CompareOp::kNotEqual;
    bool constant_text = right.kind() == ExprKind::kConstant && right.width() == Width::kString &&
                         !as<ConstantExpr>(right).value.null && !expr.null_equal;
    llvm::Value* equal;
    llvm::Value* null = nullptr;
    if (constant_text) {
      equal = emit_text_is(c, a, as<ConstantExpr>(right).value.text);
      null = a.null;
    } else {
      SqlValue b = emit_expression(c, right);
      if (expr.null_equal) {
        equal = emit_key_equal(c, a, left.width(), b, right.width(), true);
      } else {
        equal = emit_equal(c, a, left.width(), b, right.width());
        null = either_null(c, a.null, b.null);
      }
    }
    return canonical(c, negated ? c.ir().CreateNot(equal) : equal, null);
  }
  SqlValue b = emit_expression(c, right);
  bool swap = expr.op == CompareOp::kGreater || expr.op == CompareOp::kLessEqual;
  bool negate = expr.op == CompareOp::kGreaterEqual || expr.op == CompareOp::kLessEqual;
  llvm::Value* less = swap ? emit_less(c, b, right.width(), a, left.width())
                           : emit_less(c, a, left.width(), b, right.width());
  return canonical(c, negate ? c.ir().CreateNot(less) : less, either_null(c, a.null, b.null));
}

// Worth a branch to avoid.
bool is_costly(const Expr& expr) {
  if (expr.kind() == ExprKind::kLike || expr.kind() == ExprKind::kInList || expr.kind() == ExprKind::kBurn)
    return true;
  if (expr.kind() == ExprKind::kCompare && expr.children[0]->width() == Width::kString) return true;
  for (const ExprPtr& child : expr.children) {
    if (is_costly(*child)) return true;
  }
  return false;
}

// Three-valued and/or. A costly operand that cannot be null is not evaluated when the ones before it decide.
SqlValue emit_logic(Compilation& c, const LogicExpr& expr, std::size_t count) {
  jit::TrackedBuilder& ir = c.ir();
  bool is_and = expr.kind() == ExprKind::kAnd;
  const Expr& last = *expr.children[count - 1];
  if (count == 1) return emit_expression(c, last);
  SqlValue left = emit_logic(c, expr, count - 1);
  if (left.null == nullptr && is_costly(last)) {
    auto decided = [&] { return SqlValue{is_and ? ir.getFalse() : ir.getTrue()}; };
    auto evaluate = [&] { return emit_expression(c, last); };
    return is_and ? emit_choice(c, left.data, evaluate, decided)
                  : emit_choice(c, left.data, decided, evaluate);
  }
  SqlValue right = emit_expression(c, last);
  SqlValue out;
  out.data = is_and ? ir.CreateAnd(left.data, right.data) : ir.CreateOr(left.data, right.data);
  llvm::Value* null = either_null(c, left.null, right.null);
  if (null == nullptr) return out;
  if (is_and) {
    auto is_false = [&](const SqlValue& v) { return ir.CreateNot(ir.CreateOr(v.data, is_null(c, v))); };
    out.null = ir.CreateAnd(null, ir.CreateNot(ir.CreateOr(is_false(left), is_false(right))));
  } else {
    out.null = ir.CreateAnd(null, ir.CreateNot(out.data));
  }
  return out;
}

SqlValue emit_case(Compilation& c, const CaseExpr& expr, std::size_t branch) {
  auto widened = [&](const Expr& part) {
    SqlValue value = emit_expression(c, part);
    if (expr.type.has_range()) value.data = to_width(c, value.data, expr.width());
    return value;
  };
  if (branch == expr.branches()) return widened(*expr.children.back());
  SqlValue when = emit_expression(c, *expr.children[branch * 2]);
  return emit_choice(
      c, when.data, [&] { return widened(*expr.children[branch * 2 + 1]); },
      [&] { return emit_case(c, expr, branch + 1); });
}

}  // namespace

SqlValue emit_expression(Compilation& c, const Expr& expr) {
  switch (expr.kind()) {
    case ExprKind::kIu:
      return c.values().get(as<IuExpr>(expr).iu);
    case ExprKind::kConstant:
      return emit_constant(c, as<ConstantExpr>(expr));
    case ExprKind::kArithmetic:
      return emit_arithmetic(c, as<ArithmeticExpr>(expr));
    case ExprKind::kCompare:
      return emit_compare(c, as<CompareExpr>(expr));
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return emit_logic(c, as<LogicExpr>(expr), expr.children.size());
    case ExprKind::kNot: {
      SqlValue value = emit_expression(c, *expr.children[0]);
      return canonical(c, c.ir().CreateNot(value.data), value.null);
    }
    case ExprKind::kCase:
      return emit_case(c, as<CaseExpr>(expr), 0);
    case ExprKind::kLike:
      return emit_like(c, as<LikeExpr>(expr));
    case ExprKind::kInList:
      return emit_in_list(c, as<InListExpr>(expr));
    case ExprKind::kExtractYear:
      return emit_year(c, as<ExtractYearExpr>(expr));
    case ExprKind::kSubstring:
      return emit_substring(c, as<SubstringExpr>(expr));
    case ExprKind::kCast:
      return emit_cast(c, as<CastExpr>(expr));
    case ExprKind::kIsNull:
      return {is_null(c, emit_expression(c, *expr.children[0])), nullptr, nullptr};
    case ExprKind::kBurn:
      return emit_burn(c, as<BurnExpr>(expr));
  }
  return {};
}

void emit_conjuncts(Compilation& c, const std::vector<ExprPtr>& conjuncts,
                    const std::function<void()>& then) {
  auto nest = [&](auto& self, std::size_t i) -> void {
    if (i == conjuncts.size()) return then();
    emit_if(c, emit_expression(c, *conjuncts[i]).data, [&] { self(self, i + 1); });
  };
  nest(nest, 0);
}

llvm::Value* emit_all_true(Compilation& c, const std::vector<ExprPtr>& conjuncts) {
  auto nest = [&](auto& self, std::size_t i) -> llvm::Value* {
    llvm::Value* holds = emit_expression(c, *conjuncts[i]).data;
    if (i + 1 == conjuncts.size()) return holds;
    return emit_choice(
               c, holds, [&] { return SqlValue{self(self, i + 1)}; },
               [&] { return SqlValue{c.ir().getFalse()}; })
        .data;
  };
  return conjuncts.empty() ? c.ir().getTrue() : nest(nest, 0);
}

}  // namespace tailor::weft
