#include "compiler/weft/plan/evaluate.h"

#include <algorithm>

namespace tailor::weft {
namespace {

using Maybe = std::optional<Value>;

Maybe evaluate_arithmetic(const ArithmeticExpr& e, Int128 left, Int128 right) {
  Int128 result = 0;
  bool overflow = false;
  switch (e.op) {
    case ArithmeticOp::kAdd:
      overflow = __builtin_add_overflow(left, right, &result);
      break;
    case ArithmeticOp::kSubtract:
      overflow = __builtin_sub_overflow(left, right, &result);
      break;
    case ArithmeticOp::kMultiply:
      overflow = __builtin_mul_overflow(left, right, &result);
      break;
    case ArithmeticOp::kDivide: {
      if (right == 0) return Value::null_of(e.type);
      Int128 scaled;
      overflow = __builtin_mul_overflow(left, power_of_ten(e.shift), &scaled) || right == kInt128Min;
      if (overflow) break;
      result = scaled / right;
      Int128 rest = scaled % right;
      if (rest < 0) rest = -rest;
      Int128 divisor = right < 0 ? -right : right;
      if (rest >= divisor - rest) result += (left < 0) == (right < 0) ? 1 : -1;
      break;
    }
  }
  if (overflow) return {};
  return Value::of(e.type, result);
}

int compare(const Value& left, const Value& right) {
  if (left.type.id == TypeId::kString) {
    int order = left.text.compare(right.text);
    return order < 0 ? -1 : order > 0;
  }
  return left.integer < right.integer ? -1 : left.integer > right.integer;
}

bool holds(CompareOp op, int order) {
  switch (op) {
    case CompareOp::kEqual:
      return order == 0;
    case CompareOp::kNotEqual:
      return order != 0;
    case CompareOp::kLess:
      return order < 0;
    case CompareOp::kLessEqual:
      return order <= 0;
    case CompareOp::kGreater:
      return order > 0;
    case CompareOp::kGreaterEqual:
      return order >= 0;
  }
  __builtin_unreachable();
}

// Three-valued: the dominant value (false of and, true of or) wins over null.
Maybe evaluate_logic(const Expr& e, const IuValues& values) {
  bool dominant = e.kind() == ExprKind::kOr;
  bool saw_null = false;
  for (const ExprPtr& child : e.children) {
    Maybe value = evaluate(*child, values);
    if (!value) return {};
    if (value->null) {
      saw_null = true;
    } else if ((value->integer != 0) == dominant) {
      return Value::boolean(dominant);
    }
  }
  return saw_null ? Value::null_of(Type::boolean()) : Value::boolean(!dominant);
}

Maybe evaluate_case(const Expr& e, const IuValues& values) {
  for (std::size_t i = 0; i + 1 < e.children.size(); i += 2) {
    Maybe condition = evaluate(*e.children[i], values);
    if (!condition) return {};
    if (!condition->null && condition->integer != 0) return evaluate(*e.children[i + 1], values);
  }
  return evaluate(*e.children.back(), values);
}

std::string substring(const std::string& text, std::int64_t start, std::int64_t length) {
  std::int64_t size = static_cast<std::int64_t>(text.size());
  std::int64_t end = std::min(start + length, size + 1);
  std::int64_t begin = std::max<std::int64_t>(start, 1);
  return begin < end ? text.substr(begin - 1, end - begin) : std::string();
}

// Nodes that are null when an operand is, with operands that are not.
Maybe evaluate_strict(const Expr& e, const std::vector<Value>& operands) {
  const Value& first = operands[0];
  switch (e.kind()) {
    case ExprKind::kArithmetic:
      return evaluate_arithmetic(as<ArithmeticExpr>(e), first.integer, operands[1].integer);
    case ExprKind::kCompare:
      return Value::boolean(holds(as<CompareExpr>(e).op, compare(first, operands[1])));
    case ExprKind::kNot:
      return Value::boolean(first.integer == 0);
    case ExprKind::kLike:
      return Value::boolean(as<LikeExpr>(e).pattern.matches(first.text));
    case ExprKind::kInList: {
      const auto& list = as<InListExpr>(e).values;
      return Value::boolean(
          std::any_of(list.begin(), list.end(), [&](const Value& v) { return compare(v, first) == 0; }));
    }
    case ExprKind::kExtractYear:
      return Value::of(e.type, civil_of(static_cast<std::int32_t>(first.integer)).year);
    case ExprKind::kSubstring: {
      const auto& part = as<SubstringExpr>(e);
      return Value::string(substring(first.text, part.start, part.length));
    }
    case ExprKind::kCast: {
      if (e.type.id == TypeId::kString && first.type.id == TypeId::kChar1) {
        return Value::string(std::string(1, static_cast<char>(first.integer)));
      }
      Value result = first;
      result.type = e.type;
      if (__builtin_mul_overflow(first.integer, power_of_ten(e.type.scale - first.type.scale),
                                 &result.integer)) {
        return {};
      }
      return result;
    }
    default:
      return first;  // kBurn
  }
}

Maybe evaluate_null_equal(const CompareExpr& e, const std::vector<Value>& operands) {
  bool equal = operands[0].null || operands[1].null ? operands[0].null == operands[1].null
                                                    : compare(operands[0], operands[1]) == 0;
  return Value::boolean(equal == (e.op == CompareOp::kEqual));
}

}  // namespace

Maybe evaluate(const Expr& e, const IuValues& values) {
  switch (e.kind()) {
    case ExprKind::kIu: {
      const Value* value = values(as<IuExpr>(e).iu);
      return value == nullptr ? Maybe() : Maybe(*value);
    }
    case ExprKind::kConstant:
      return as<ConstantExpr>(e).value;
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return evaluate_logic(e, values);
    case ExprKind::kCase:
      return evaluate_case(e, values);
    default:
      break;
  }
  std::vector<Value> operands;
  bool any_null = false;
  for (const ExprPtr& child : e.children) {
    Maybe value = evaluate(*child, values);
    if (!value) return {};
    any_null |= value->null;
    operands.push_back(*std::move(value));
  }
  if (e.kind() == ExprKind::kIsNull) return Value::boolean(operands[0].null);
  if (e.kind() == ExprKind::kCompare && as<CompareExpr>(e).null_equal) {
    return evaluate_null_equal(as<CompareExpr>(e), operands);
  }
  if (any_null) return Value::null_of(e.type);
  return evaluate_strict(e, operands);
}

}  // namespace tailor::weft
