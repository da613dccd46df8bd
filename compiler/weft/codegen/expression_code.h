// Generated code of scalar expressions (compiler/weft/plan/expression.h has their meaning).
#pragma once

#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/plan/expression.h"

namespace tailor::weft {

// The value of the expression, in expr.width(). The units it names must be bound.
SqlValue EmitExpression(Compilation& c, const Expr& expr);
// Generates `then` under the condition that all conjuncts are true, tested in order.
void EmitConjuncts(Compilation& c, const std::vector<ExprPtr>& conjuncts, const std::function<void()>& then);
// i1: all of them are true; for few and cheap ones.
llvm::Value* EmitAllTrue(Compilation& c, const std::vector<ExprPtr>& conjuncts);

// Parts of EmitExpression in files of their own.
SqlValue EmitArithmetic(Compilation& c, const ArithmeticExpr& expr);
SqlValue EmitCast(Compilation& c, const CastExpr& expr);
SqlValue EmitLike(Compilation& c, const LikeExpr& expr);
SqlValue EmitSubstring(Compilation& c, const SubstringExpr& expr);
SqlValue EmitInList(Compilation& c, const InListExpr& expr);
SqlValue EmitYear(Compilation& c, const ExtractYearExpr& expr);
SqlValue EmitBurn(Compilation& c, const BurnExpr& expr);

}  // namespace tailor::weft
