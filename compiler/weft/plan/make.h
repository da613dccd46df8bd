// Typed construction of expressions: brings operands to a common type, derives result types and value ranges,
// folds constants. Errors say what does not fit; the caller knows where in the text.
#pragma once

#include "compiler/weft/plan/expression.h"
#include "proto/base/result.h"

namespace tailor::weft {

// Digits after the point that a division produces at least.
inline constexpr int kDivisionScale = 6;

ExprPtr make_iu(const Iu* iu);
ExprPtr make_constant(Value value);

// Numbers with numbers; dates plus or minus integers (days). Integers stay integers but for division.
Result<ExprPtr> make_arithmetic(ArithmeticOp op, ExprPtr left, ExprPtr right);
Result<ExprPtr> make_compare(CompareOp op, ExprPtr left, ExprPtr right, bool null_equal = false);
// Flattens nested conjunctions and disjunctions; drops true from kAnd and false from kOr. At least one
// operand.
ExprPtr make_logic(ExprKind kind, std::vector<ExprPtr> operands);
ExprPtr make_not(ExprPtr operand);
// parts as in CaseExpr; results are brought to one type.
Result<ExprPtr> make_case(std::vector<ExprPtr> parts);
Result<ExprPtr> make_in_list(ExprPtr input, std::vector<ExprPtr> values);
Result<ExprPtr> make_like(ExprPtr input, std::string pattern);
Result<ExprPtr> make_extract_year(ExprPtr input);
Result<ExprPtr> make_substring(ExprPtr input, std::int64_t start, std::int64_t length);
ExprPtr make_is_null(ExprPtr input);

// Brings both to one type by casts (never one that loses digits).
Status unify(ExprPtr* left, ExprPtr* right);
// A widening cast, or the expression itself where nothing has to change; see CastExpr for what there is.
Result<ExprPtr> make_cast(ExprPtr input, Type target);

// decimal(p, scale) with p from the digits of the range; int64 for scale 0 of integers that fit.
Type numeric_type(const Range& range, int scale, bool integer, bool nullable);

// The conjuncts of a predicate: splits kAnd, drops true.
void split_conjuncts(ExprPtr predicate, std::vector<ExprPtr>* conjuncts);

}  // namespace tailor::weft
