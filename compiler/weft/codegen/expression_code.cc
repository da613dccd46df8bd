#include "compiler/weft/codegen/expression_code.h"

#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"

namespace tailor::weft {
namespace {

SqlValue EmitConstant(Compilation& c, const ConstantExpr& expr) {
  Width width = expr.width();
  if (expr.value.null) return ZeroValue(c, width, true);
  if (width == Width::kString) {
    return {c.ir().CreateGlobalString(expr.value.text, "text"), c.ir().getInt64(expr.value.text.size()),
            nullptr};
  }
  auto* type = llvm::cast<llvm::IntegerType>(DataType(c, width));
  std::uint64_t words[2] = {static_cast<std::uint64_t>(expr.value.integer),
                            static_cast<std::uint64_t>(static_cast<Uint128>(expr.value.integer) >> 64)};
  return {llvm::ConstantInt::get(type, llvm::APInt(128, words).trunc(type->getBitWidth())), nullptr, nullptr};
}

// A bool whose data is false where it is null.
SqlValue Canonical(Compilation& c, llvm::Value* data, llvm::Value* null) {
  if (null != nullptr) data = c.ir().CreateAnd(data, c.ir().CreateNot(null));
  return {data, nullptr, null};
}

SqlValue EmitCompare(Compilation& c, const CompareExpr& expr) {
  const Expr& left = *expr.children[0];
  const Expr& right = *expr.children[1];
  SqlValue a = EmitExpression(c, left);
  if (expr.op == CompareOp::kEqual || expr.op == CompareOp::kNotEqual) {
    bool negated = expr.op == CompareOp::kNotEqual;
    bool constant_text = right.kind() == ExprKind::kConstant && right.width() == Width::kString &&
                         !as<ConstantExpr>(right).value.null && !expr.null_equal;
    llvm::Value* equal;
    llvm::Value* null = nullptr;
    if (constant_text) {
      equal = EmitTextIs(c, a, as<ConstantExpr>(right).value.text);
      null = a.null;
    } else {
      SqlValue b = EmitExpression(c, right);
      if (expr.null_equal) {
        equal = EmitKeyEqual(c, a, left.width(), b, right.width(), true);
      } else {
        equal = EmitEqual(c, a, left.width(), b, right.width());
        null = EitherNull(c, a.null, b.null);
      }
    }
    return Canonical(c, negated ? c.ir().CreateNot(equal) : equal, null);
  }
  SqlValue b = EmitExpression(c, right);
  bool swap = expr.op == CompareOp::kGreater || expr.op == CompareOp::kLessEqual;
  bool negate = expr.op == CompareOp::kGreaterEqual || expr.op == CompareOp::kLessEqual;
  llvm::Value* less =
      swap ? EmitLess(c, b, right.width(), a, left.width()) : EmitLess(c, a, left.width(), b, right.width());
  return Canonical(c, negate ? c.ir().CreateNot(less) : less, EitherNull(c, a.null, b.null));
}

// Worth a branch to avoid.
bool IsCostly(const Expr& expr) {
  if (expr.kind() == ExprKind::kLike || expr.kind() == ExprKind::kInList || expr.kind() == ExprKind::kBurn)
    return true;
  if (expr.kind() == ExprKind::kCompare && expr.children[0]->width() == Width::kString) return true;
  for (const ExprPtr& child : expr.children) {
    if (IsCostly(*child)) return true;
  }
  return false;
}

// Three-valued and/or. A costly operand that cannot be null is not evaluated when the ones before it decide.
SqlValue EmitLogic(Compilation& c, const LogicExpr& expr, std::size_t count) {
  jit::TrackedBuilder& ir = c.ir();
  bool is_and = expr.kind() == ExprKind::kAnd;
  const Expr& last = *expr.children[count - 1];
  if (count == 1) return EmitExpression(c, last);
  SqlValue left = EmitLogic(c, expr, count - 1);
  if (left.null == nullptr && IsCostly(last)) {
    auto decided = [&] { return SqlValue{is_and ? ir.getFalse() : ir.getTrue()}; };
    auto evaluate = [&] { return EmitExpression(c, last); };
    return is_and ? EmitChoice(c, left.data, evaluate, decided) : EmitChoice(c, left.data, decided, evaluate);
  }
  SqlValue right = EmitExpression(c, last);
  SqlValue out;
  out.data = is_and ? ir.CreateAnd(left.data, right.data) : ir.CreateOr(left.data, right.data);
  llvm::Value* null = EitherNull(c, left.null, right.null);
  if (null == nullptr) return out;
  if (is_and) {
    auto is_false = [&](const SqlValue& v) { return ir.CreateNot(ir.CreateOr(v.data, IsNull(c, v))); };
    out.null = ir.CreateAnd(null, ir.CreateNot(ir.CreateOr(is_false(left), is_false(right))));
  } else {
    out.null = ir.CreateAnd(null, ir.CreateNot(out.data));
  }
  return out;
}

SqlValue EmitCase(Compilation& c, const CaseExpr& expr, std::size_t branch) {
  auto widened = [&](const Expr& part) {
    SqlValue value = EmitExpression(c, part);
    if (expr.type.has_range()) value.data = ToWidth(c, value.data, expr.width());
    return value;
  };
  if (branch == expr.branches()) return widened(*expr.children.back());
  SqlValue when = EmitExpression(c, *expr.children[branch * 2]);
  return EmitChoice(
      c, when.data, [&] { return widened(*expr.children[branch * 2 + 1]); },
      [&] { return EmitCase(c, expr, branch + 1); });
}

}  // namespace

SqlValue EmitExpression(Compilation& c, const Expr& expr) {
  switch (expr.kind()) {
    case ExprKind::kIu:
      return c.values().Get(as<IuExpr>(expr).iu);
    case ExprKind::kConstant:
      return EmitConstant(c, as<ConstantExpr>(expr));
    case ExprKind::kArithmetic:
      return EmitArithmetic(c, as<ArithmeticExpr>(expr));
    case ExprKind::kCompare:
      return EmitCompare(c, as<CompareExpr>(expr));
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return EmitLogic(c, as<LogicExpr>(expr), expr.children.size());
    case ExprKind::kNot: {
      SqlValue value = EmitExpression(c, *expr.children[0]);
      return Canonical(c, c.ir().CreateNot(value.data), value.null);
    }
    case ExprKind::kCase:
      return EmitCase(c, as<CaseExpr>(expr), 0);
    case ExprKind::kLike:
      return EmitLike(c, as<LikeExpr>(expr));
    case ExprKind::kInList:
      return EmitInList(c, as<InListExpr>(expr));
    case ExprKind::kExtractYear:
      return EmitYear(c, as<ExtractYearExpr>(expr));
    case ExprKind::kSubstring:
      return EmitSubstring(c, as<SubstringExpr>(expr));
    case ExprKind::kCast:
      return EmitCast(c, as<CastExpr>(expr));
    case ExprKind::kIsNull:
      return {IsNull(c, EmitExpression(c, *expr.children[0])), nullptr, nullptr};
    case ExprKind::kBurn:
      return EmitBurn(c, as<BurnExpr>(expr));
  }
  return {};
}

void EmitConjuncts(Compilation& c, const std::vector<ExprPtr>& conjuncts, const std::function<void()>& then) {
  auto nest = [&](auto& self, std::size_t i) -> void {
    if (i == conjuncts.size()) return then();
    EmitIf(c, EmitExpression(c, *conjuncts[i]).data, [&] { self(self, i + 1); });
  };
  nest(nest, 0);
}

llvm::Value* EmitAllTrue(Compilation& c, const std::vector<ExprPtr>& conjuncts) {
  auto nest = [&](auto& self, std::size_t i) -> llvm::Value* {
    llvm::Value* holds = EmitExpression(c, *conjuncts[i]).data;
    if (i + 1 == conjuncts.size()) return holds;
    return EmitChoice(
               c, holds, [&] { return SqlValue{self(self, i + 1)}; },
               [&] { return SqlValue{c.ir().getFalse()}; })
        .data;
  };
  return conjuncts.empty() ? c.ir().getTrue() : nest(nest, 0);
}

}  // namespace tailor::weft
