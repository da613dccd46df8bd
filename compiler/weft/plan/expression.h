// Scalar expressions over information units.
//
// Every node carries its type (with nullability) and its proven value range. Rules for the code generator:
//  - A null operand makes the result null, except in kAnd, kOr (three-valued), kCase, kIsNull and kCompare
//    with null_equal.
//  - Casts bring operands to one type and scale: both sides of kAdd, kSubtract and kCompare, the results of
//    kCase and the values of kInList have the same TypeId and, for decimals, the same scale. Their widths
//    may differ: sign-extend to the wider one, and to the node's own width. kMultiply takes operands of any
//    scale (the scales add up), kDivide see there.
//  - A node with may_overflow needs a checked operation in its width (run-time error "numeric overflow");
//    the others cannot overflow.
//  - Predicates are expressions of type bool; null counts as false in a filter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/weft/plan/iu.h"
#include "compiler/weft/types/value.h"

namespace tailor::weft {

enum class ExprKind : std::uint8_t {
  kIu,
  kConstant,
  kArithmetic,
  kCompare,
  kAnd,
  kOr,
  kNot,
  kCase,
  kLike,
  kInList,
  kExtractYear,
  kSubstring,
  kCast,
  kIsNull,
  kBurn,
};

class Expr;
using ExprPtr = std::unique_ptr<Expr>;

class Expr {
 public:
  virtual ~Expr() = default;
  Expr(const Expr&) = delete;
  Expr& operator=(const Expr&) = delete;

  ExprKind kind() const { return kind_; }
  Width width() const { return width_of(type, range); }

  Type type;
  Range range;                    // of integers, decimals and dates
  bool may_overflow = false;      // the operation must be checked
  std::vector<ExprPtr> children;  // operands, in the order the class names them

  ExprPtr clone() const;

 protected:
  Expr(ExprKind kind, Type type_in, Range range_in) : type(type_in), range(range_in), kind_(kind) {}

 private:
  ExprKind kind_;
};

// The value of a unit.
class IuExpr final : public Expr {
 public:
  explicit IuExpr(const Iu* unit) : Expr(ExprKind::kIu, unit->type, unit->range), iu(unit) {}
  const Iu* iu;
};

class ConstantExpr final : public Expr {
 public:
  explicit ConstantExpr(Value v);
  Value value;
};

enum class ArithmeticOp : std::uint8_t { kAdd, kSubtract, kMultiply, kDivide };

// children: left, right. Also date plus or minus an integer number of days (type date).
// kDivide: the result is round_half_away_from_zero(left * 10^shift / right), null when right is zero; the
// product left * 10^shift is proven to fit `work` (k64 or k128), in which the division is done.
class ArithmeticExpr final : public Expr {
 public:
  ArithmeticExpr(ArithmeticOp operation, Type type_in, Range range_in)
      : Expr(ExprKind::kArithmetic, type_in, range_in), op(operation) {}
  ArithmeticOp op;
  std::uint8_t shift = 0;
  Width work = Width::k64;
};

enum class CompareOp : std::uint8_t { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

// children: left, right, of one type (any). Strings compare bytewise, the shorter of equal prefixes first.
class CompareExpr final : public Expr {
 public:
  CompareExpr(CompareOp operation, ExprPtr left, ExprPtr right, bool nulls_equal = false);
  CompareOp op;
  bool null_equal;  // "is [not] distinct from": never null; kEqual and kNotEqual only
};

// kAnd and kOr over two or more children.
class LogicExpr final : public Expr {
 public:
  LogicExpr(ExprKind kind, std::vector<ExprPtr> operands);
};

class NotExpr final : public Expr {
 public:
  explicit NotExpr(ExprPtr operand);
};

// children: when_1, then_1, when_2, then_2, ..., else (always there; a null constant if the text has none).
class CaseExpr final : public Expr {
 public:
  explicit CaseExpr(std::vector<ExprPtr> parts);
  std::size_t branches() const { return children.size() / 2; }
};

// children: the string. `not like` is a NotExpr above. The pattern is analysed once: parts between runs of %,
// none of them empty; within a part '_' stands for one byte where wild[i] is set.
struct LikePattern {
  struct Part {
    std::string bytes;
    std::vector<bool> wild;  // as long as bytes
    bool has_wild = false;
  };
  std::string text;
  std::vector<Part> parts;
  bool anchored_start = true;  // the pattern does not begin with %
  bool anchored_end = true;    // it does not end with %

  static LikePattern parse(std::string pattern);
  bool matches(std::string_view input) const;
};

class LikeExpr final : public Expr {
 public:
  LikeExpr(ExprPtr input, LikePattern like);
  LikePattern pattern;
};

// children: the tested value. `values` are constants of its type, distinct, not null, ascending.
class InListExpr final : public Expr {
 public:
  InListExpr(ExprPtr input, std::vector<Value> list);
  std::vector<Value> values;
};

// children: a date. The result is an int32.
class ExtractYearExpr final : public Expr {
 public:
  explicit ExtractYearExpr(ExprPtr input);
};

// children: a string. Bytes [start, start + length) of it counting from 1, cut at both ends as in SQL.
class SubstringExpr final : public Expr {
 public:
  SubstringExpr(ExprPtr input, std::int64_t first, std::int64_t count);
  std::int64_t start;
  std::int64_t length;
};

// children: the input. Between integers and decimals: to a scale at least as large (multiply by the power of
// ten between them: never rounds), or between int32, int64 and decimal scale 0 (same integer). char(1) to
// string (one byte). Anything with itself, to make it nullable.
class CastExpr final : public Expr {
 public:
  CastExpr(ExprPtr input, Type target, Range range_in);
  int scale_difference() const { return type.scale - children[0]->type.scale; }
};

// children: anything. "is not null" is a NotExpr above.
class IsNullExpr final : public Expr {
 public:
  explicit IsNullExpr(ExprPtr input);
};

// children: anything. The identity at the cost of `rounds` steps that no optimizer may remove or move:
// known, injected cost that profiles are tested against. SQL: weft_burn_inline(expr, rounds) and
// weft_burn_call(expr, rounds), the second one through a call of shared run-time code. At most
// kMaxRounds; zero rounds still cost the fences around them.
class BurnExpr final : public Expr {
 public:
  static constexpr std::uint64_t kMaxRounds = 4096;
  BurnExpr(ExprPtr input, std::uint64_t steps, bool by_call);
  std::uint64_t rounds;
  bool call;
};

// Checked down-cast by kind: `as<CaseExpr>(e)`; the caller has looked at kind().
template <typename T>
const T& as(const Expr& e) {
  return static_cast<const T&>(e);
}
template <typename T>
T& as(Expr& e) {
  return static_cast<T&>(e);
}

}  // namespace tailor::weft
