#include <fmt/format.h>

#include "compiler/weft/plan/print.h"

namespace tailor::weft {
namespace {

const char* symbol(ArithmeticOp op) {
  switch (op) {
    case ArithmeticOp::kAdd:
      return "+";
    case ArithmeticOp::kSubtract:
      return "-";
    case ArithmeticOp::kMultiply:
      return "*";
    case ArithmeticOp::kDivide:
      return "/";
  }
  __builtin_unreachable();
}

const char* symbol(const CompareExpr& compare) {
  switch (compare.op) {
    case CompareOp::kEqual:
      return compare.null_equal ? "is not distinct from" : "=";
    case CompareOp::kNotEqual:
      return compare.null_equal ? "is distinct from" : "<>";
    case CompareOp::kLess:
      return "<";
    case CompareOp::kLessEqual:
      return "<=";
    case CompareOp::kGreater:
      return ">";
    case CompareOp::kGreaterEqual:
      return ">=";
  }
  __builtin_unreachable();
}

// An operand, in parentheses where it is an operation itself.
std::string operand(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kArithmetic:
    case ExprKind::kCompare:
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot:
    case ExprKind::kLike:
    case ExprKind::kInList:
    case ExprKind::kIsNull:
      return fmt::format("({})", to_string(e));
    default:
      return to_string(e);
  }
}

std::string joined(const std::vector<ExprPtr>& operands, const char* separator) {
  std::string text;
  for (const ExprPtr& e : operands) {
    if (!text.empty()) text += separator;
    text += operand(*e);
  }
  return text;
}

std::string case_text(const CaseExpr& e) {
  std::string text = "case";
  for (std::size_t i = 0; i < e.branches(); ++i) {
    text += fmt::format(" when {} then {}", to_string(*e.children[2 * i]), to_string(*e.children[2 * i + 1]));
  }
  return fmt::format("{} else {} end", text, to_string(*e.children.back()));
}

std::string in_text(const InListExpr& e) {
  std::string text;
  for (const Value& value : e.values) {
    if (!text.empty()) text += ", ";
    text += to_string(value);
  }
  return fmt::format("{} in ({})", operand(*e.children[0]), text);
}

}  // namespace

std::string to_string(const Expr& e) {
  switch (e.kind()) {
    case ExprKind::kIu:
      return as<IuExpr>(e).iu->name;
    case ExprKind::kConstant:
      return to_string(as<ConstantExpr>(e).value);
    case ExprKind::kArithmetic: {
      const auto& op = as<ArithmeticExpr>(e);
      return fmt::format("{} {} {}", operand(*e.children[0]), symbol(op.op), operand(*e.children[1]));
    }
    case ExprKind::kCompare:
      return fmt::format("{} {} {}", operand(*e.children[0]), symbol(as<CompareExpr>(e)),
                         operand(*e.children[1]));
    case ExprKind::kAnd:
      return joined(e.children, " and ");
    case ExprKind::kOr:
      return joined(e.children, " or ");
    case ExprKind::kNot:
      return fmt::format("not {}", operand(*e.children[0]));
    case ExprKind::kCase:
      return case_text(as<CaseExpr>(e));
    case ExprKind::kLike:
      return fmt::format("{} like '{}'", operand(*e.children[0]), as<LikeExpr>(e).pattern.text);
    case ExprKind::kInList:
      return in_text(as<InListExpr>(e));
    case ExprKind::kExtractYear:
      return fmt::format("year({})", to_string(*e.children[0]));
    case ExprKind::kSubstring: {
      const auto& part = as<SubstringExpr>(e);
      return fmt::format("substring({}, {}, {})", to_string(*e.children[0]), part.start, part.length);
    }
    // A cast between number types is noise to a reader.
    case ExprKind::kCast:
      return to_string(*e.children[0]);
    case ExprKind::kIsNull:
      return fmt::format("{} is null", operand(*e.children[0]));
    case ExprKind::kBurn: {
      const auto& burn = as<BurnExpr>(e);
      return fmt::format("weft_burn_{}({}, {})", burn.call ? "call" : "inline", to_string(*e.children[0]),
                         burn.rounds);
    }
  }
  __builtin_unreachable();
}

std::string to_string(const std::vector<ExprPtr>& conjuncts) {
  if (conjuncts.size() == 1) return to_string(*conjuncts[0]);
  return joined(conjuncts, " and ");
}

}  // namespace tailor::weft
