#include <fmt/format.h>

#include <charconv>

#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {
namespace {

struct Operator {
  const char* symbol;
  ArithmeticOp op;
};
constexpr Operator kArithmetic[] = {{"+", ArithmeticOp::kAdd},
                                    {"-", ArithmeticOp::kSubtract},
                                    {"*", ArithmeticOp::kMultiply},
                                    {"/", ArithmeticOp::kDivide}};
struct Comparison {
  const char* symbol;
  CompareOp op;
};
constexpr Comparison kComparisons[] = {{"=", CompareOp::kEqual},   {"<>", CompareOp::kNotEqual},
                                       {"<", CompareOp::kLess},    {"<=", CompareOp::kLessEqual},
                                       {">", CompareOp::kGreater}, {">=", CompareOp::kGreaterEqual}};

bool is_interval(const ast::Expr& e) {
  return e.kind == ast::Kind::kInterval;
}

// Last day of the month if the day does not exist, as in PostgreSQL.
std::int32_t add_months(std::int32_t days, int months) {
  CivilDate date = civil_of(days);
  int month = date.year * 12 + date.month - 1 + months;
  int year = month / 12;
  int first = days_of(year, month % 12 + 1, 1);
  int next = days_of((month + 1) / 12, (month + 1) % 12 + 1, 1);
  return std::min(first + date.day - 1, next - 1);
}

struct Interval {
  std::int64_t amount = 0;
  std::string unit;  // day, month, year; empty if not understood
};
Interval parse_interval(const std::string& text) {
  Interval interval;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), interval.amount);
  if (error != std::errc() || interval.amount > 1000000 || interval.amount < -1000000) return {};
  std::string unit(end, text.data() + text.size());
  unit.erase(0, unit.find_first_not_of(' '));
  if (!unit.empty() && unit.back() == 's') unit.pop_back();
  if (unit == "day" || unit == "month" || unit == "year") interval.unit = unit;
  return interval;
}

}  // namespace

ExprPtr StatementBinder::expr(const ast::Expr& e, const Context& context) {
  if (context.aggregates != nullptr) {
    auto found = context.aggregates->find(&e);
    if (found != context.aggregates->end()) return found->second->clone();
  }
  bool passes_truth_on =
      e.kind == ast::Kind::kAnd || e.kind == ast::Kind::kOr || e.kind == ast::Kind::kInSubquery;
  if (context.is_condition && !passes_truth_on) {
    Context value = context;
    value.is_condition = false;
    return expr(e, value);
  }
  switch (e.kind) {
    case ast::Kind::kColumn:
      return column(e, context);
    case ast::Kind::kStar:
      return fail(e.location, "* is not a value");
    case ast::Kind::kInteger:
    case ast::Kind::kDecimal:
      return number(e);
    case ast::Kind::kString:
      return make_constant(Value::string(e.text));
    case ast::Kind::kBool:
      return make_constant(Value::boolean(e.text == "true"));
    case ast::Kind::kNull:
      return make_constant(Value::null_of(Type::boolean()));
    case ast::Kind::kInterval:
      return fail(e.location, "an interval is added to or subtracted from a date");
    case ast::Kind::kUnary: {
      if (e.text != "-") return fail(e.location, fmt::format("there is no operator {}", e.text));
      ExprPtr zero = make_constant(Value::int64(0));
      return checked(e.location,
                     make_arithmetic(ArithmeticOp::kSubtract, std::move(zero), expr(*e.args[0], context)));
    }
    case ast::Kind::kBinary:
      return binary(e, context);
    case ast::Kind::kAnd:
    case ast::Kind::kOr:
    case ast::Kind::kNot:
      return logic(e, context);
    case ast::Kind::kCall:
      return call(e, context);
    case ast::Kind::kCase:
      return case_expr(e, context);
    case ast::Kind::kLike: {
      if (e.args[1]->kind != ast::Kind::kString)
        return fail(e.args[1]->location, "a pattern has to be a constant");
      ExprPtr like = checked(e.location, make_like(expr(*e.args[0], context), e.args[1]->text));
      return e.negated ? make_not(std::move(like)) : std::move(like);
    }
    case ast::Kind::kInList:
      return in_list(e, context);
    case ast::Kind::kBetween:
      return between(e, context);
    case ast::Kind::kIsNull: {
      ExprPtr test = make_is_null(expr(*e.args[0], context));
      return e.negated ? make_not(std::move(test)) : std::move(test);
    }
    case ast::Kind::kDistinctFrom: {
      CompareOp op = e.negated ? CompareOp::kEqual : CompareOp::kNotEqual;
      return checked(e.location,
                     make_compare(op, expr(*e.args[0], context), expr(*e.args[1], context), true));
    }
    case ast::Kind::kCast:
      return cast(e, context);
    case ast::Kind::kExists:
    case ast::Kind::kInSubquery:
      return mark_subquery(e, context);
    case ast::Kind::kScalarSubquery:
      return scalar_subquery(e, context);
  }
  __builtin_unreachable();
}

ExprPtr StatementBinder::column(const ast::Expr& e, const Context& context) {
  if (context.scope == nullptr) return fail(e.location, "a constant is expected");
  Scope::Lookup lookup = context.scope->find(e.qualifier, e.text);
  std::string name = e.qualifier.empty() ? e.text : e.qualifier + "." + e.text;
  if (lookup.found == Scope::Found::kNone)
    return fail(e.location, fmt::format("there is no column {}", name));
  if (lookup.found == Scope::Found::kAmbiguous)
    return fail(e.location, fmt::format("{} could be two columns", name));
  return make_iu(lookup.iu);
}

ExprPtr StatementBinder::number(const ast::Expr& e) {
  Int128 value = 0;
  int digits = 0, scale = 0;
  bool behind = false;
  for (char c : e.text) {
    if (c == '.') {
      behind = true;
    } else if (c >= '0' && c <= '9') {
      if (++digits > kMaxPowerOfTen) return fail(e.location, "a number has at most 38 digits");
      value = value * 10 + (c - '0');
      scale += behind;
    } else if (c != '-') {
      return fail(e.location, fmt::format("{} is not a number weft understands", e.text));
    }
  }
  if (!e.text.empty() && e.text[0] == '-') value = -value;
  return make_constant(
      Value::of(numeric_type(Range::of(value), scale, e.kind == ast::Kind::kInteger, false), value));
}

ExprPtr StatementBinder::binary(const ast::Expr& e, const Context& context) {
  if (is_interval(*e.args[0]) || is_interval(*e.args[1])) return plus_interval(e, context);
  for (const auto& arithmetic : kArithmetic) {
    if (e.text != arithmetic.symbol) continue;
    return checked(e.location,
                   make_arithmetic(arithmetic.op, expr(*e.args[0], context), expr(*e.args[1], context)));
  }
  for (const auto& comparison : kComparisons) {
    if (e.text != comparison.symbol) continue;
    return checked(e.location,
                   make_compare(comparison.op, expr(*e.args[0], context), expr(*e.args[1], context)));
  }
  return fail(e.location, fmt::format("there is no operator {}", e.text));
}

ExprPtr StatementBinder::plus_interval(const ast::Expr& e, const Context& context) {
  bool first = is_interval(*e.args[0]);
  const ast::Expr& interval_text = *e.args[first ? 0 : 1];
  Interval interval = parse_interval(interval_text.text);
  if (interval.unit.empty())
    return fail(interval_text.location, "an interval is a number of days, months or years");
  if (is_interval(*e.args[first ? 1 : 0]) || (e.text != "+" && (e.text != "-" || first))) {
    return fail(e.location, "an interval is added to or subtracted from a date");
  }
  ExprPtr date = expr(*e.args[first ? 1 : 0], context);
  if (date->type.id != TypeId::kDate)
    return fail(e.location, "an interval is added to or subtracted from a date");
  std::int64_t amount = e.text == "-" ? -interval.amount : interval.amount;
  if (interval.unit == "day") {
    return checked(e.location,
                   make_arithmetic(ArithmeticOp::kAdd, std::move(date), make_constant(Value::int64(amount))));
  }
  if (date->kind() != ExprKind::kConstant) return fail(e.location, "months are added to constant dates only");
  auto months = static_cast<int>(interval.unit == "year" ? amount * 12 : amount);
  auto days = static_cast<std::int32_t>(as<ConstantExpr>(*date).value.integer);
  return make_constant(Value::of(Type::date(), add_months(days, months)));
}

ExprPtr StatementBinder::logic(const ast::Expr& e, const Context& context) {
  std::vector<ExprPtr> operands;
  for (const auto& arg : e.args) {
    operands.push_back(expr(*arg, context));
    bool is_null = operands.back()->kind() == ExprKind::kConstant && operands.back()->type.nullable;
    if (operands.back()->type.id != TypeId::kBool && !is_null)
      return fail(arg->location, "a condition has to be bool");
  }
  if (e.kind == ast::Kind::kNot) return make_not(std::move(operands[0]));
  return make_logic(e.kind == ast::Kind::kAnd ? ExprKind::kAnd : ExprKind::kOr, std::move(operands));
}

ExprPtr StatementBinder::between(const ast::Expr& e, const Context& context) {
  ExprPtr input = expr(*e.args[0], context);
  ExprPtr again = input->clone();
  std::vector<ExprPtr> both;
  both.push_back(checked(
      e.location, make_compare(CompareOp::kGreaterEqual, std::move(input), expr(*e.args[1], context))));
  both.push_back(
      checked(e.location, make_compare(CompareOp::kLessEqual, std::move(again), expr(*e.args[2], context))));
  ExprPtr result = make_logic(ExprKind::kAnd, std::move(both));
  return e.negated ? make_not(std::move(result)) : std::move(result);
}

ExprPtr StatementBinder::in_list(const ast::Expr& e, const Context& context) {
  ExprPtr input = expr(*e.args[0], context);
  std::vector<ExprPtr> values;
  for (std::size_t i = 1; i < e.args.size(); ++i) values.push_back(expr(*e.args[i], context));
  ExprPtr result = checked(e.location, make_in_list(std::move(input), std::move(values)));
  return e.negated ? make_not(std::move(result)) : std::move(result);
}

ExprPtr StatementBinder::case_expr(const ast::Expr& e, const Context& context) {
  std::vector<ExprPtr> parts;
  std::size_t conditions = e.args.size() / 2;
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    parts.push_back(expr(*e.args[i], context));
    bool is_condition = i % 2 == 0 && i / 2 < conditions;
    if (is_condition && parts.back()->type.id != TypeId::kBool)
      return fail(e.args[i]->location, "a condition has to be bool");
  }
  if (!e.has_else) parts.push_back(make_constant(Value::null_of(parts[1]->type)));
  return checked(e.location, make_case(std::move(parts)));
}

ExprPtr StatementBinder::cast(const ast::Expr& e, const Context& context) {
  ExprPtr input = expr(*e.args[0], context);
  bool constant_text = input->kind() == ExprKind::kConstant && input->type.id == TypeId::kString;
  if (e.text == "date") {
    if (!constant_text) return checked(e.location, make_cast(std::move(input), Type::date()));
    std::optional<std::int32_t> days = parse_date(as<ConstantExpr>(*input).value.text);
    if (!days) return fail(e.args[0]->location, "a date is written 'YYYY-MM-DD'");
    return make_constant(Value::of(Type::date(), *days));
  }
  if (e.text == "int4" || e.text == "int2")
    return checked(e.location, make_cast(std::move(input), Type::int32()));
  if (e.text == "int8") return checked(e.location, make_cast(std::move(input), Type::int64()));
  if (e.text == "numeric") {
    int scale = e.modifiers.size() > 1 ? static_cast<int>(e.modifiers[1]) : 0;
    if (scale < 0 || scale > kMaxPowerOfTen) return fail(e.location, "a scale lies between 0 and 38");
    return checked(e.location, make_cast(std::move(input), Type::decimal(kMaxPowerOfTen, scale)));
  }
  if (e.text == "text" || e.text == "varchar" || (e.text == "bpchar" && constant_text)) {
    return checked(e.location, make_cast(std::move(input), Type::string()));
  }
  return fail(e.location, fmt::format("weft has no cast to {}", e.text));
}

ExprPtr StatementBinder::call(const ast::Expr& e, const Context& context) {
  if (is_aggregate(e)) return fail(e.location, fmt::format("{} is not possible here", e.text));
  if (e.text == "weft_burn_inline" || e.text == "weft_burn_call") return burn(e, context);
  if (e.text == "coalesce") return coalesce(e, context);
  if (e.text == "extract" && e.args.size() == 2) {
    if (e.args[0]->text != "year") return fail(e.location, "only the year can be extracted");
    return checked(e.location, make_extract_year(expr(*e.args[1], context)));
  }
  if ((e.text == "substring" || e.text == "substr") && (e.args.size() == 2 || e.args.size() == 3)) {
    return substring(e, context);
  }
  if (e.text == "nullif" && e.args.size() == 2) {
    std::vector<ExprPtr> parts;
    ExprPtr input = expr(*e.args[0], context);
    parts.push_back(
        checked(e.location, make_compare(CompareOp::kEqual, input->clone(), expr(*e.args[1], context))));
    parts.push_back(make_constant(Value::null_of(input->type)));
    parts.push_back(std::move(input));
    return checked(e.location, make_case(std::move(parts)));
  }
  return fail(e.location, fmt::format("there is no function {} with {} arguments", e.text, e.args.size()));
}

ExprPtr StatementBinder::burn(const ast::Expr& e, const Context& context) {
  if (e.args.size() != 2)
    return fail(e.location, fmt::format("{} takes a value and a number of rounds", e.text));
  ExprPtr input = expr(*e.args[0], context);
  std::int64_t rounds = whole_number(*e.args[1]);
  if (rounds < 0 || static_cast<std::uint64_t>(rounds) > BurnExpr::kMaxRounds)
    return fail(e.args[1]->location, fmt::format("a number of rounds is from 0 to {}", BurnExpr::kMaxRounds));
  return std::make_unique<BurnExpr>(std::move(input), static_cast<std::uint64_t>(rounds),
                                    e.text == "weft_burn_call");
}

ExprPtr StatementBinder::substring(const ast::Expr& e, const Context& context) {
  ExprPtr input = expr(*e.args[0], context);
  std::int64_t start = whole_number(*e.args[1]);
  std::int64_t length = e.args.size() == 3 ? whole_number(*e.args[2]) : INT32_MAX;
  return checked(e.location, make_substring(std::move(input), start, length));
}

ExprPtr StatementBinder::coalesce(const ast::Expr& e, const Context& context) {
  ExprPtr result = expr(*e.args.back(), context);
  for (std::size_t i = e.args.size() - 1; i-- > 0;) {
    ExprPtr value = expr(*e.args[i], context);
    if (!value->type.nullable) {
      result = std::move(value);
      continue;
    }
    std::vector<ExprPtr> parts;
    parts.push_back(make_is_null(value->clone()));
    parts.push_back(std::move(result));
    parts.push_back(std::move(value));
    result = checked(e.location, make_case(std::move(parts)));
  }
  return result;
}

std::int64_t StatementBinder::whole_number(const ast::Expr& e) {
  ExprPtr value = expr(e, {});
  bool constant = value->kind() == ExprKind::kConstant && value->type.id == TypeId::kInt64;
  if (!constant) {
    fail(e.location, "a whole number is expected");
    return 0;
  }
  Int128 number = as<ConstantExpr>(*value).value.integer;
  if (number > INT32_MAX || number < INT32_MIN) {
    fail(e.location, "this number is too large");
    return 0;
  }
  return static_cast<std::int64_t>(number);
}

}  // namespace tailor::weft
