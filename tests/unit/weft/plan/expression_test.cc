#include <gtest/gtest.h>

#include <random>
#include <regex>

#include "compiler/weft/plan/evaluate.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/plan/rewrite.h"
#include "tests/unit/weft/plan/expression_fixture.h"

namespace tailor::weft {
namespace {

TEST_F(Expressions, ConstantsFold) {
  auto sum = make_arithmetic(ArithmeticOp::kAdd, constant("6", 2), constant("1", 2));
  ASSERT_TRUE(sum.ok());
  EXPECT_EQ(to_string(**sum), "0.07");
  auto quotient = make_arithmetic(ArithmeticOp::kDivide, constant("2", 0), constant("3", 0));
  EXPECT_EQ(to_string(**quotient), "0.666667");
  auto negative = make_arithmetic(ArithmeticOp::kDivide, constant("-1", 0), constant("2000000", 0));
  EXPECT_EQ(to_string(**negative), "-0.000001");
}

TEST_F(Expressions, DivisionByZeroIsNull) {
  auto quotient = make_arithmetic(ArithmeticOp::kDivide, constant("1", 0), constant("0", 0));
  ASSERT_TRUE(quotient.ok());
  EXPECT_EQ(to_string(**quotient), "null");
}

TEST_F(Expressions, ProductsOfMoneyStayIn64BitsWhenProven) {
  ExprPtr price = unit("price", Type::decimal(15, 2), {90091, 10494950});
  ExprPtr discount = unit("discount", Type::decimal(15, 2), {0, 10});
  auto rest = make_arithmetic(ArithmeticOp::kSubtract, constant("1", 0), std::move(discount));
  auto product = make_arithmetic(ArithmeticOp::kMultiply, std::move(price), *std::move(rest));
  ASSERT_TRUE(product.ok());
  EXPECT_EQ((*product)->type.scale, 4);
  EXPECT_EQ((*product)->range, (Range{90091 * 90, Int128{10494950} * 100}));
  EXPECT_EQ((*product)->width(), Width::k64);
  EXPECT_FALSE((*product)->may_overflow);
}

TEST_F(Expressions, IntegersWidenInsteadOfOverflowing) {
  ExprPtr a = unit("a", Type::int64(), kRange64);
  auto product = make_arithmetic(ArithmeticOp::kMultiply, a->clone(), a->clone());
  EXPECT_EQ((*product)->width(), Width::k128);
  EXPECT_FALSE((*product)->may_overflow);
  auto cube = make_arithmetic(ArithmeticOp::kMultiply, *std::move(product), a->clone());
  EXPECT_TRUE((*cube)->may_overflow);
}

TEST_F(Expressions, ComparisonsUnifyScalesAndTextConstants) {
  auto compare = make_compare(CompareOp::kLess, unit("d", Type::decimal(15, 2), {0, 100}), constant("24", 0));
  EXPECT_EQ(to_string(**compare), "d < 24.00");
  auto day = make_compare(CompareOp::kLess, unit("day", Type::date(), kRange32),
                          make_constant(Value::string("1995-01-01")));
  ASSERT_TRUE(day.ok());
  EXPECT_EQ((*day)->children[1]->type.id, TypeId::kDate);
  auto flag = make_compare(CompareOp::kEqual, unit("flag", Type::char1(), Range::all()),
                           make_constant(Value::string("R")));
  EXPECT_EQ((*flag)->children[1]->type.id, TypeId::kChar1);
  EXPECT_FALSE(make_compare(CompareOp::kEqual, unit("day", Type::date(), kRange32), constant("1", 0)).ok());
}

TEST_F(Expressions, ThreeValuedLogic) {
  ExprPtr null = make_constant(Value::null_of(Type::boolean()));
  ExprPtr x = unit("x", Type::boolean(true), Range::all());
  auto value = [&](ExprPtr e, Value of_x) { return *evaluate(*e, [&](const Iu*) { return &of_x; }); };
  Value yes = Value::boolean(true), no = Value::boolean(false);
  EXPECT_EQ(value(both(null->clone(), x->clone()), no).integer, 0);
  EXPECT_TRUE(value(both(null->clone(), x->clone()), yes).null);
  EXPECT_EQ(value(both(null->clone(), x->clone(), ExprKind::kOr), yes).integer, 1);
  EXPECT_TRUE(value(both(null->clone(), x->clone(), ExprKind::kOr), no).null);
}

TEST_F(Expressions, NullRejection) {
  ExprPtr a = unit("a", Type::int64(true), kRange64);
  IuSet of_a = ius_of(*a);
  EXPECT_TRUE(rejects_nulls(*equal(a, 1), of_a));
  EXPECT_TRUE(rejects_nulls(*make_not(make_is_null(a->clone())), of_a));
  EXPECT_FALSE(rejects_nulls(*make_is_null(a->clone()), of_a));
  EXPECT_FALSE(rejects_nulls(*both(equal(a, 1), make_is_null(a->clone()), ExprKind::kOr), of_a));
}

// Against the standard library's regular expressions, over all short strings of a small alphabet.
TEST(LikePattern, AgreesWithRegularExpressions) {
  std::vector<std::string> inputs{""};
  for (std::size_t i = 0; inputs[i].size() < 5; ++i) {
    for (char c : {'a', 'b'}) inputs.push_back(inputs[i] + c);
  }
  for (std::string pattern :
       {"", "%", "a", "a%", "%a", "%a%", "a%b", "%ab%a%", "_", "a_", "%_b", "_%_", "a%_%b", "ab%ab", "%%"}) {
    std::string regex;
    for (char c : pattern) regex += c == '%' ? ".*" : c == '_' ? "." : std::string(1, c);
    std::regex expected(regex);
    LikePattern like = LikePattern::parse(pattern);
    for (const std::string& input : inputs) {
      EXPECT_EQ(like.matches(input), std::regex_match(input, expected)) << input << " like " << pattern;
    }
  }
  EXPECT_TRUE(LikePattern::parse("50\\%").matches("50%"));
  EXPECT_FALSE(LikePattern::parse("50\\%").matches("500"));
}

// Inputs long enough for the search to try many places at once, against the standard library's own.
TEST(LikePattern, FindsAPartAtEveryPlaceOfALongInput) {
  std::mt19937 random(7);
  auto text = [&](std::size_t size) {
    std::string out(size, 'a');
    for (char& c : out) c = static_cast<char>('a' + random() % 2);
    return out;
  };
  for (int round = 0; round < 20'000; ++round) {
    const std::string input = text(random() % 80), part = text(1 + random() % 9);
    EXPECT_EQ(LikePattern::parse("%" + part + "%").matches(input), input.find(part) != std::string::npos)
        << input << " like %" << part << "%";
  }
}

}  // namespace
}  // namespace tailor::weft
