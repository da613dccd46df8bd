#include "compiler/weft/plan/make.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/weft/plan/evaluate.h"

namespace tailor::weft {
namespace {

bool is_constant(const Expr& e) {
  return e.kind() == ExprKind::kConstant;
}
const Value& value_of(const Expr& e) {
  return as<ConstantExpr>(e).value;
}
bool is_constant_bool(const Expr& e, bool value) {
  return is_constant(e) && !value_of(e).null && (value_of(e).integer != 0) == value;
}

// The expression as a constant, if all its operands are.
ExprPtr folded(ExprPtr e) {
  bool constant =
      std::all_of(e->children.begin(), e->children.end(), [](const ExprPtr& c) { return is_constant(*c); });
  if (!constant) return e;
  std::optional<Value> value = evaluate(*e, [](const Iu*) { return nullptr; });
  if (!value) return e;
  // The node's type, not the constant's own: precision and nullability are part of what others rely on.
  value->type = e->type.with_null(value->null);
  return make_constant(*std::move(value));
}

int digits_of(const Range& range) {
  int digits = 1;
  while (digits < kMaxPowerOfTen &&
         (range.max >= power_of_ten(digits) || range.min <= -power_of_ten(digits))) {
    ++digits;
  }
  return digits;
}

Error type_error(const char* what, const Expr& left, const Expr& right) {
  return {fmt::format("{} of {} and {} is not defined", what, to_string(left.type), to_string(right.type))};
}

const char* name_of(ArithmeticOp op) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return "the sum";
    case ArithmeticOp::kSubtract:
      return "the difference";
    case ArithmeticOp::kMultiply:
      return "the product";
    case ArithmeticOp::kDivide:
      return "the quotient";
  }
  __builtin_unreachable();
}

ExprPtr finish(std::unique_ptr<ArithmeticExpr> e, ExprPtr left, ExprPtr right) {
  e->children.push_back(std::move(left));
  e->children.push_back(std::move(right));
  return folded(std::move(e));
}

ExprPtr make_date_arithmetic(ArithmeticOp op, ExprPtr left, ExprPtr right) {
  RangeResult r =
      op == ArithmeticOp::kAdd ? add(left->range, right->range) : subtract(left->range, right->range);
  bool overflow = r.may_overflow || !r.range.fits(kRange32);
  Range range{std::max(r.range.min, kRange32.min), std::min(r.range.max, kRange32.max)};
  auto e =
      std::make_unique<ArithmeticExpr>(op, Type::date(left->type.nullable || right->type.nullable), range);
  e->may_overflow = overflow;
  return finish(std::move(e), std::move(left), std::move(right));
}

Result<ExprPtr> make_division(ExprPtr left, ExprPtr right) {
  int scale = std::max<int>(left->type.scale, kDivisionScale);
  int shift = scale + right->type.scale - left->type.scale;
  RangeResult scaled;
  // Fewer digits rather than an overflow.
  for (;; --scale, --shift) {
    if (shift > kMaxPowerOfTen) continue;
    scaled = multiply(left->range, Range::of(power_of_ten(shift)));
    if (!scaled.may_overflow || shift == 0) break;
  }
  Range range = divide(scaled.range, right->range);
  bool nullable = left->type.nullable || right->type.nullable || right->range.contains(0);
  auto e = std::make_unique<ArithmeticExpr>(ArithmeticOp::kDivide,
                                            numeric_type(range, std::max(scale, 0), false, nullable), range);
  e->shift = static_cast<std::uint8_t>(shift);
  e->work = scaled.range.fits(kRange64) && right->range.fits(kRange64) && range.fits(kRange64) ? Width::k64
                                                                                               : Width::k128;
  return finish(std::move(e), std::move(left), std::move(right));
}

bool is_date_plus_days(ArithmeticOp op, const Expr& left, const Expr& right) {
  return (op == ArithmeticOp::kAdd || op == ArithmeticOp::kSubtract) && left.type.id == TypeId::kDate &&
         (right.type.id == TypeId::kInt32 || right.type.id == TypeId::kInt64);
}

// A string constant of one byte stands for a char(1); one that is a date stands for a date.
bool adapt_constant(ExprPtr* constant, const Type& wanted) {
  if (!is_constant(**constant)) return false;
  const Value& value = value_of(**constant);
  if (value.null) {
    *constant = make_constant(Value::null_of(wanted));
    return true;
  }
  if (value.type.id != TypeId::kString) return false;
  if (wanted.id == TypeId::kChar1 && value.text.size() == 1) {
    *constant = make_constant(Value::of(Type::char1(), static_cast<unsigned char>(value.text[0])));
    return true;
  }
  if (wanted.id == TypeId::kDate) {
    std::optional<std::int32_t> days = parse_date(value.text);
    if (!days) return false;
    *constant = make_constant(Value::of(Type::date(), *days));
    return true;
  }
  return false;
}

}  // namespace

ExprPtr make_iu(const Iu* iu) {
  return std::make_unique<IuExpr>(iu);
}
ExprPtr make_constant(Value value) {
  return std::make_unique<ConstantExpr>(std::move(value));
}

Type numeric_type(const Range& range, int scale, bool integer, bool nullable) {
  if (integer && scale == 0 && range.fits(kRange64)) return Type::int64(nullable);
  return Type::decimal(std::max(digits_of(range), scale), scale, nullable);
}

Result<ExprPtr> make_cast(ExprPtr input, Type target) {
  target.nullable |= input->type.nullable;
  if (input->type.same_but_null(target)) return input;
  if (is_constant(*input) && value_of(*input).null) return make_constant(Value::null_of(target));
  if (input->type.id == TypeId::kChar1 && target.id == TypeId::kString) {
    return folded(std::make_unique<CastExpr>(std::move(input), target, Range::all()));
  }
  bool numbers = input->type.is_numeric() && target.is_numeric();
  if (!numbers || target.scale < input->type.scale) {
    return invalid(fmt::format("{} cannot become {}", to_string(input->type), to_string(target)));
  }
  RangeResult scaled = multiply(input->range, Range::of(power_of_ten(target.scale - input->type.scale)));
  if (target.id == TypeId::kDecimal)
    target = numeric_type(scaled.range, target.scale, false, target.nullable);
  if (target.id == TypeId::kInt32 && !scaled.range.fits(kRange32)) target.id = TypeId::kInt64;
  bool overflow = scaled.may_overflow;
  auto cast = std::make_unique<CastExpr>(std::move(input), target, scaled.range);
  cast->may_overflow = overflow;
  return folded(std::move(cast));
}

Status unify(ExprPtr* left, ExprPtr* right) {
  if ((*left)->type.same_but_null((*right)->type)) return Ok{};
  if (adapt_constant(left, (*right)->type) || adapt_constant(right, (*left)->type)) return Ok{};
  Type target = (*left)->type;
  const Type& other = (*right)->type;
  if (target.is_numeric() && other.is_numeric()) {
    int scale = std::max(target.scale, other.scale);
    bool decimal = target.id == TypeId::kDecimal || other.id == TypeId::kDecimal;
    target = decimal ? Type::decimal(kMaxPowerOfTen, scale) : Type::int64();
  } else {
    target = Type::string();
  }
  target.nullable = false;
  auto l = make_cast((*left)->clone(), target);
  if (!l) return l.error();
  auto r = make_cast((*right)->clone(), target);
  if (!r) return r.error();
  *left = *std::move(l);
  *right = *std::move(r);
  return Ok{};
}

Result<ExprPtr> make_arithmetic(ArithmeticOp op, ExprPtr left, ExprPtr right) {
  if (is_date_plus_days(op, *left, *right))
    return make_date_arithmetic(op, std::move(left), std::move(right));
  if (op == ArithmeticOp::kAdd && is_date_plus_days(op, *right, *left)) {
    return make_date_arithmetic(op, std::move(right), std::move(left));
  }
  if (!left->type.is_numeric() || !right->type.is_numeric()) return type_error(name_of(op), *left, *right);
  if (op == ArithmeticOp::kDivide) return make_division(std::move(left), std::move(right));
  bool integer = left->type.id != TypeId::kDecimal && right->type.id != TypeId::kDecimal;
  int scale = left->type.scale + right->type.scale;
  if (op != ArithmeticOp::kMultiply) {
    Status unified = unify(&left, &right);
    if (!unified) return unified.error();
    scale = left->type.scale;
  } else if (scale > kMaxPowerOfTen) {
    return invalid(fmt::format("a product with {} digits behind the point is too long", scale));
  }
  RangeResult r = op == ArithmeticOp::kAdd        ? add(left->range, right->range)
                  : op == ArithmeticOp::kSubtract ? subtract(left->range, right->range)
                                                  : multiply(left->range, right->range);
  bool nullable = left->type.nullable || right->type.nullable;
  auto e = std::make_unique<ArithmeticExpr>(op, numeric_type(r.range, scale, integer, nullable), r.range);
  e->may_overflow = r.may_overflow;
  return finish(std::move(e), std::move(left), std::move(right));
}

Result<ExprPtr> make_compare(CompareOp op, ExprPtr left, ExprPtr right, bool null_equal) {
  if (Status unified = unify(&left, &right); !unified) return type_error("a comparison", *left, *right);
  return folded(std::make_unique<CompareExpr>(op, std::move(left), std::move(right), null_equal));
}

ExprPtr make_logic(ExprKind kind, std::vector<ExprPtr> operands) {
  bool neutral = kind == ExprKind::kAnd;
  std::vector<ExprPtr> flat;
  for (ExprPtr& operand : operands) {
    if (operand->kind() == kind) {
      for (ExprPtr& inner : operand->children) flat.push_back(std::move(inner));
    } else if (is_constant_bool(*operand, !neutral)) {
      return make_constant(Value::boolean(!neutral));
    } else if (!is_constant_bool(*operand, neutral)) {
      flat.push_back(std::move(operand));
    }
  }
  if (flat.empty()) return make_constant(Value::boolean(neutral));
  if (flat.size() == 1) return std::move(flat[0]);
  return std::make_unique<LogicExpr>(kind, std::move(flat));
}

ExprPtr make_not(ExprPtr operand) {
  if (operand->kind() == ExprKind::kNot) return std::move(operand->children[0]);
  return folded(std::make_unique<NotExpr>(std::move(operand)));
}

Result<ExprPtr> make_case(std::vector<ExprPtr> parts) {
  // Unify every result with every other by way of the first: two passes reach the common type.
  ExprPtr& last = parts.back();
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t i = 1; i < parts.size(); i += 2) {
      if (Status unified = unify(&parts[i], &last); !unified) return type_error("a case", *parts[i], *last);
    }
  }
  return ExprPtr(std::make_unique<CaseExpr>(std::move(parts)));
}

Result<ExprPtr> make_in_list(ExprPtr input, std::vector<ExprPtr> values) {
  std::vector<Value> constants;
  for (ExprPtr& value : values) {
    if (Status unified = unify(&input, &value); !unified) return type_error("an in list", *input, *value);
    if (!is_constant(*value) || value_of(*value).null)
      return invalid("an in list takes constants that are not null");
  }
  // A later value may have widened the input, so the constants are brought to its type once more.
  for (ExprPtr& value : values) {
    if (Status unified = unify(&input, &value); !unified) return unified.error();
    constants.push_back(value_of(*value));
  }
  auto before = [](const Value& a, const Value& b) {
    return a.type.id == TypeId::kString ? a.text < b.text : a.integer < b.integer;
  };
  std::sort(constants.begin(), constants.end(), before);
  auto same = [](const Value& a, const Value& b) { return a.integer == b.integer && a.text == b.text; };
  constants.erase(std::unique(constants.begin(), constants.end(), same), constants.end());
  return folded(std::make_unique<InListExpr>(std::move(input), std::move(constants)));
}

Result<ExprPtr> make_like(ExprPtr input, std::string pattern) {
  if (input->type.id == TypeId::kChar1) {
    auto cast = make_cast(std::move(input), Type::string());
    if (!cast) return cast.error();
    input = *std::move(cast);
  }
  if (input->type.id != TypeId::kString)
    return invalid(fmt::format("like takes a string, not {}", to_string(input->type)));
  return folded(std::make_unique<LikeExpr>(std::move(input), LikePattern::parse(std::move(pattern))));
}

Result<ExprPtr> make_extract_year(ExprPtr input) {
  if (input->type.id != TypeId::kDate)
    return invalid(fmt::format("a year of {} is not defined", to_string(input->type)));
  return folded(std::make_unique<ExtractYearExpr>(std::move(input)));
}

Result<ExprPtr> make_substring(ExprPtr input, std::int64_t start, std::int64_t length) {
  if (input->type.id != TypeId::kString) {
    return invalid(fmt::format("substring takes a string, not {}", to_string(input->type)));
  }
  if (length < 0) return invalid("substring takes a length that is not negative");
  return folded(std::make_unique<SubstringExpr>(std::move(input), start, length));
}

ExprPtr make_is_null(ExprPtr input) {
  if (!input->type.nullable) return make_constant(Value::boolean(false));
  return folded(std::make_unique<IsNullExpr>(std::move(input)));
}

void split_conjuncts(ExprPtr predicate, std::vector<ExprPtr>* conjuncts) {
  if (predicate->kind() == ExprKind::kAnd) {
    for (ExprPtr& child : predicate->children) split_conjuncts(std::move(child), conjuncts);
  } else if (!is_constant_bool(*predicate, true)) {
    conjuncts->push_back(std::move(predicate));
  }
}

}  // namespace tailor::weft
