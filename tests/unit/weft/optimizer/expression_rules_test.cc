// The optimizer's rules for single expressions.
#include "compiler/weft/optimizer/common_subexpressions.h"
#include "compiler/weft/optimizer/disjunction.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/plan/rewrite.h"
#include "tests/unit/weft/plan/expression_fixture.h"

namespace tailor::weft {
namespace {

using ExpressionRules = Expressions;

TEST_F(ExpressionRules, DisjunctionsGiveUpWhatTheyShare) {
  ExprPtr a = unit("a", Type::int64(), kRange64), b = unit("b", Type::int64(), kRange64);
  ExprPtr e = both(both(equal(a, 1), equal(b, 2)), both(equal(b, 3), equal(a, 1)), ExprKind::kOr);
  std::vector<ExprPtr> parts = factor_out(std::move(e));
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(to_string(*parts[0]), "a = 1");
  EXPECT_EQ(to_string(*parts[1]), "(b = 2) or (b = 3)");
}

TEST_F(ExpressionRules, DisjunctionsImplyPredicatesOfOneSide) {
  ExprPtr a = unit("a", Type::int64(), kRange64), b = unit("b", Type::int64(), kRange64);
  ExprPtr e = both(both(equal(a, 1), equal(b, 2)), both(equal(a, 2), equal(b, 1)), ExprKind::kOr);
  EXPECT_EQ(to_string(*implied_for(*e, ius_of(*a))), "(a = 1) or (a = 2)");
  ExprPtr open = both(both(equal(a, 1), equal(b, 2)), equal(b, 1), ExprKind::kOr);
  EXPECT_EQ(implied_for(*open, ius_of(*a)), nullptr);
}

TEST_F(ExpressionRules, CommonPartsAreComputedOnce) {
  ExprPtr a = unit("a", Type::int64(), {0, 10}), b = unit("b", Type::int64(), {0, 10});
  auto product = *make_arithmetic(ArithmeticOp::kMultiply, a->clone(), b->clone());
  auto swapped = *make_arithmetic(ArithmeticOp::kMultiply, b->clone(), a->clone());
  auto longer = *make_arithmetic(ArithmeticOp::kAdd, std::move(swapped), a->clone());
  std::vector<Map::Computation> computations;
  const Iu* second = ius.make("second", product->type, product->range);
  computations.push_back({ius.make("first", longer->type, longer->range), std::move(longer)});
  computations.push_back({second, std::move(product)});
  share_common(&computations, &ius);
  ASSERT_EQ(computations.size(), 2u);
  EXPECT_EQ(computations[0].iu, second);
  EXPECT_EQ(to_string(*computations[1].expr), "second + a");
}

}  // namespace
}  // namespace tailor::weft
