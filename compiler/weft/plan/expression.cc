#include "compiler/weft/plan/expression.h"

#include <algorithm>

namespace tailor::weft {
namespace {

bool any_nullable(const std::vector<ExprPtr>& operands) {
  return std::any_of(operands.begin(), operands.end(), [](const ExprPtr& e) { return e->type.nullable; });
}

Range range_of_value(const Value& value) {
  return value.type.has_range() && !value.null ? Range::of(value.integer) : Range::all();
}

// The common range of the results of a case; a null result has no values.
Range range_of_results(const std::vector<ExprPtr>& parts) {
  if (!parts.back()->type.has_range()) return Range::all();
  std::optional<Range> range;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i % 2 == 0 && i + 1 != parts.size()) continue;  // a condition
    if (parts[i]->kind() == ExprKind::kConstant && as<ConstantExpr>(*parts[i]).value.null) continue;
    range = range ? range->united(parts[i]->range) : parts[i]->range;
  }
  return range.value_or(Range::of(0));
}

bool case_is_nullable(const std::vector<ExprPtr>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    bool is_result = i % 2 == 1 || i + 1 == parts.size();
    if (is_result && parts[i]->type.nullable) return true;
  }
  return false;
}

std::vector<ExprPtr> one(ExprPtr operand) {
  std::vector<ExprPtr> operands;
  operands.push_back(std::move(operand));
  return operands;
}

std::vector<ExprPtr> clones(const std::vector<ExprPtr>& operands) {
  std::vector<ExprPtr> result;
  for (const ExprPtr& operand : operands) result.push_back(operand->clone());
  return result;
}

ExprPtr clone_node(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kIu:
      return std::make_unique<IuExpr>(as<IuExpr>(e).iu);
    case ExprKind::kConstant:
      return std::make_unique<ConstantExpr>(as<ConstantExpr>(e).value);
    case ExprKind::kArithmetic: {
      const auto& from = as<ArithmeticExpr>(e);
      auto copy = std::make_unique<ArithmeticExpr>(from.op, from.type, from.range);
      copy->shift = from.shift;
      copy->work = from.work;
      copy->children = clones(from.children);
      return copy;
    }
    case ExprKind::kCompare: {
      const auto& from = as<CompareExpr>(e);
      return std::make_unique<CompareExpr>(from.op, from.children[0]->clone(), from.children[1]->clone(),
                                           from.null_equal);
    }
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return std::make_unique<LogicExpr>(e.kind(), clones(e.children));
    case ExprKind::kNot:
      return std::make_unique<NotExpr>(e.children[0]->clone());
    case ExprKind::kCase:
      return std::make_unique<CaseExpr>(clones(e.children));
    case ExprKind::kLike:
      return std::make_unique<LikeExpr>(e.children[0]->clone(), as<LikeExpr>(e).pattern);
    case ExprKind::kInList:
      return std::make_unique<InListExpr>(e.children[0]->clone(), as<InListExpr>(e).values);
    case ExprKind::kExtractYear:
      return std::make_unique<ExtractYearExpr>(e.children[0]->clone());
    case ExprKind::kSubstring: {
      const auto& from = as<SubstringExpr>(e);
      return std::make_unique<SubstringExpr>(from.children[0]->clone(), from.start, from.length);
    }
    case ExprKind::kCast:
      return std::make_unique<CastExpr>(e.children[0]->clone(), e.type, e.range);
    case ExprKind::kIsNull:
      return std::make_unique<IsNullExpr>(e.children[0]->clone());
    case ExprKind::kBurn: {
      const auto& from = as<BurnExpr>(e);
      return std::make_unique<BurnExpr>(from.children[0]->clone(), from.rounds, from.call);
    }
  }
  __builtin_unreachable();
}

}  // namespace

ExprPtr Expr::clone() const {
  ExprPtr copy = clone_node(*this);
  copy->type = type;
  copy->range = range;
  copy->may_overflow = may_overflow;
  return copy;
}

ConstantExpr::ConstantExpr(Value v)
    : Expr(ExprKind::kConstant, v.type, range_of_value(v)), value(std::move(v)) {}

CompareExpr::CompareExpr(CompareOp operation, ExprPtr left, ExprPtr right, bool nulls_equal)
    : Expr(ExprKind::kCompare, Type::boolean(!nulls_equal && (left->type.nullable || right->type.nullable)),
           Range::all()),
      op(operation),
      null_equal(nulls_equal) {
  children.push_back(std::move(left));
  children.push_back(std::move(right));
}

LogicExpr::LogicExpr(ExprKind kind, std::vector<ExprPtr> operands)
    : Expr(kind, Type::boolean(any_nullable(operands)), Range::all()) {
  children = std::move(operands);
}

NotExpr::NotExpr(ExprPtr operand)
    : Expr(ExprKind::kNot, Type::boolean(operand->type.nullable), Range::all()) {
  children = one(std::move(operand));
}

CaseExpr::CaseExpr(std::vector<ExprPtr> parts)
    : Expr(ExprKind::kCase, parts[1]->type.with_null(case_is_nullable(parts)), range_of_results(parts)) {
  children = std::move(parts);
}

LikeExpr::LikeExpr(ExprPtr input, LikePattern like)
    : Expr(ExprKind::kLike, Type::boolean(input->type.nullable), Range::all()), pattern(std::move(like)) {
  children = one(std::move(input));
}

InListExpr::InListExpr(ExprPtr input, std::vector<Value> list)
    : Expr(ExprKind::kInList, Type::boolean(input->type.nullable), Range::all()), values(std::move(list)) {
  children = one(std::move(input));
}

ExtractYearExpr::ExtractYearExpr(ExprPtr input)
    : Expr(ExprKind::kExtractYear, Type::int32(input->type.nullable),
           {civil_of(static_cast<std::int32_t>(input->range.min)).year,
            civil_of(static_cast<std::int32_t>(input->range.max)).year}) {
  children = one(std::move(input));
}

SubstringExpr::SubstringExpr(ExprPtr input, std::int64_t first, std::int64_t count)
    : Expr(ExprKind::kSubstring, Type::string(input->type.nullable), Range::all()),
      start(first),
      length(count) {
  children = one(std::move(input));
}

CastExpr::CastExpr(ExprPtr input, Type target, Range range_in) : Expr(ExprKind::kCast, target, range_in) {
  children = one(std::move(input));
}

IsNullExpr::IsNullExpr(ExprPtr input) : Expr(ExprKind::kIsNull, Type::boolean(), Range::all()) {
  children = one(std::move(input));
}

BurnExpr::BurnExpr(ExprPtr input, std::uint64_t steps, bool by_call)
    : Expr(ExprKind::kBurn, input->type, input->range), rounds(steps), call(by_call) {
  children = one(std::move(input));
}

}  // namespace tailor::weft
