// Generated code of scalar expressions (compiler/weft/plan/expression.h has their meaning).
#pragma once

#include "compiler/weft/codegen/compilation.h"
#include "compiler/weft/plan/expression.h"

namespace tailor::weft {

// The value of the expression, in expr.width(). The units it names must be bound.
SqlValue emit_expression(Compilation& c, const Expr& expr);
// Generates `then` under the condition that all conjuncts are true, tested in order.
void emit_conjuncts(Compilation& c, const std::vector<ExprPtr>& conjuncts, const std::function<void()>& then);
// i1: all of them are true; for few and cheap ones.
llvm::Value* emit_all_true(Compilation& c, const std::vector<ExprPtr>& conjuncts);

// Parts of emit_expression in files of their own.
SqlValue emit_arithmetic(Compilation& c, const ArithmeticExpr& expr);
SqlValue emit_cast(Compilation& c, const CastExpr& expr);
SqlValue emit_like(Compilation& c, const LikeExpr& expr);
SqlValue emit_substring(Compilation& c, const SubstringExpr& expr);
SqlValue emit_in_list(Compilation& c, const InListExpr& expr);
SqlValue emit_year(Compilation& c, const ExtractYearExpr& expr);
SqlValue emit_burn(Compilation& c, const BurnExpr& expr);

}  // namespace tailor::weft
