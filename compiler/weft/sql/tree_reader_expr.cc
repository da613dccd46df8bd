#include <algorithm>

#include "compiler/weft/sql/json_access.h"
#include "compiler/weft/sql/tree_reader.h"

namespace tailor::weft {
namespace {

constexpr int kMaxDepth = 500;

ast::ExprPtr make(ast::Kind kind, int location, std::string text = {}) {
  auto e = std::make_unique<ast::Expr>();
  e->kind = kind;
  e->location = location;
  e->text = std::move(text);
  return e;
}

// PostgreSQL writes the unit of "interval '3' month" as a bit mask.
const char* interval_unit(const nlohmann::json& type_name) {
  const nlohmann::json& modifiers = member(type_name, "typmods");
  if (modifiers.empty()) return "";
  switch (integer_of(member(member(modifiers[0], "A_Const"), "ival"), "ival")) {
    case 1 << 1:
      return " month";
    case 1 << 2:
      return " year";
    case 1 << 3:
      return " day";
    default:
      return " ?";
  }
}

}  // namespace

ast::ExprPtr TreeReader::expr(const Json& node) {
  if (!node.is_object() || node.empty()) return unsupported(Json::object(), "this expression");
  // Deep nesting would exhaust the stack of every recursive step that follows.
  if (depth_ > kMaxDepth) return unsupported(Json::object(), "expressions nested this deeply");
  ++depth_;
  ast::ExprPtr result = expr_of_kind(node.begin().key(), node.begin().value());
  --depth_;
  return result;
}

ast::ExprPtr TreeReader::expr_of_kind(const std::string& kind, const Json& body) {
  if (kind == "ColumnRef") return column(body);
  if (kind == "A_Const") return constant(body);
  if (kind == "A_Expr") return operation(body);
  if (kind == "BoolExpr") return bool_operation(body);
  if (kind == "FuncCall") return call(body);
  if (kind == "CaseExpr") return case_expr(body);
  if (kind == "TypeCast") return cast(body);
  if (kind == "SubLink") return sublink(body);
  if (kind == "NullTest") return null_test(body);
  if (kind == "CoalesceExpr") {
    auto e = make(ast::Kind::kCall, location_of(body), "coalesce");
    add_args(member(body, "args"), e.get());
    return e;
  }
  return unsupported(body, "the expression " + kind);
}

void TreeReader::add_args(const Json& list, ast::Expr* into) {
  for (const Json& item : list) into->args.push_back(expr(item));
}

ast::ExprPtr TreeReader::column(const Json& body) {
  const Json& fields = member(body, "fields");
  std::vector<std::string> names = strings_of(fields);
  bool star = !fields.empty() && fields.back().contains("A_Star");
  auto e = make(star ? ast::Kind::kStar : ast::Kind::kColumn, location_of(body));
  if (names.size() > (star ? 1u : 2u)) return unsupported(body, "schemas");
  if (!star) {
    e->text = names.back();
    names.pop_back();
  }
  if (!names.empty()) e->qualifier = names.back();
  return e;
}

std::string TreeReader::whole_number(const Json& body) const {
  const Json& value = member(body, "ival");
  if (value.contains("ival")) return std::to_string(integer_of(value, "ival"));
  auto at = static_cast<std::size_t>(std::max(location_of(body), 0));
  if (at >= sql_.size() || sql_[at] != '-') return "0";
  at = sql_.find_first_not_of(" \t\r\n", at + 1);
  if (at == std::string_view::npos) return "0";
  std::size_t end = sql_.find_first_not_of("0123456789", at);
  return "-" + std::string(sql_.substr(at, end == std::string_view::npos ? end : end - at));
}

ast::ExprPtr TreeReader::constant(const Json& body) {
  int location = location_of(body);
  if (flag_of(body, "isnull")) return make(ast::Kind::kNull, location);
  if (body.contains("ival")) {
    return make(ast::Kind::kInteger, location, whole_number(body));
  }
  if (body.contains("fval")) {
    std::string digits = text_of(member(body, "fval"), "fval");
    if (digits.find_first_of("eE") != std::string::npos) return unsupported(body, "numbers with an exponent");
    bool integer = digits.find('.') == std::string::npos;
    return make(integer ? ast::Kind::kInteger : ast::Kind::kDecimal, location, std::move(digits));
  }
  if (body.contains("boolval")) {
    return make(ast::Kind::kBool, location, flag_of(member(body, "boolval"), "boolval") ? "true" : "false");
  }
  if (body.contains("sval")) return make(ast::Kind::kString, location, text_of(member(body, "sval"), "sval"));
  return unsupported(body, "this constant");
}

ast::ExprPtr TreeReader::operation(const Json& body) {
  std::string kind = text_of(body, "kind");
  int location = location_of(body);
  std::vector<std::string> name = strings_of(member(body, "name"));
  std::string symbol = name.empty() ? "" : name.back();
  if (kind == "AEXPR_OP") return plain_operator(body);
  ast::ExprPtr e;
  if (kind == "AEXPR_IN") {
    e = make(ast::Kind::kInList, location);
    e->negated = symbol == "<>";
  } else if (kind == "AEXPR_BETWEEN" || kind == "AEXPR_NOT_BETWEEN") {
    e = make(ast::Kind::kBetween, location);
    e->negated = kind == "AEXPR_NOT_BETWEEN";
  } else if (kind == "AEXPR_LIKE") {
    e = make(ast::Kind::kLike, location);
    e->negated = symbol == "!~~";
  } else if (kind == "AEXPR_DISTINCT" || kind == "AEXPR_NOT_DISTINCT") {
    e = make(ast::Kind::kDistinctFrom, location);
    e->negated = kind == "AEXPR_NOT_DISTINCT";
  } else if (kind == "AEXPR_NULLIF") {
    e = make(ast::Kind::kCall, location, "nullif");
  } else {
    return unsupported(body, "the operator " + symbol);
  }
  e->args.push_back(expr(member(body, "lexpr")));
  const Json& right = member(body, "rexpr");
  if (right.contains("List")) {
    add_args(member(right["List"], "items"), e.get());
  } else {
    e->args.push_back(expr(right));
  }
  return e;
}

ast::ExprPtr TreeReader::plain_operator(const Json& body) {
  std::vector<std::string> name = strings_of(member(body, "name"));
  bool unary = !body.contains("lexpr");
  auto e = make(unary ? ast::Kind::kUnary : ast::Kind::kBinary, location_of(body),
                name.empty() ? "" : name.back());
  if (!unary) e->args.push_back(expr(member(body, "lexpr")));
  e->args.push_back(expr(member(body, "rexpr")));
  return e;
}

ast::ExprPtr TreeReader::bool_operation(const Json& body) {
  std::string op = text_of(body, "boolop");
  auto e = make(op == "AND_EXPR"  ? ast::Kind::kAnd
                : op == "OR_EXPR" ? ast::Kind::kOr
                                  : ast::Kind::kNot,
                location_of(body));
  add_args(member(body, "args"), e.get());
  return e;
}

ast::ExprPtr TreeReader::call(const Json& body) {
  std::vector<std::string> name = strings_of(member(body, "funcname"));
  if (body.contains("over")) return unsupported(body, "window functions");
  if (body.contains("agg_filter")) return unsupported(body, "filter of aggregates");
  auto e = make(ast::Kind::kCall, location_of(body), name.empty() ? "" : name.back());
  e->distinct = flag_of(body, "agg_distinct");
  e->star = flag_of(body, "agg_star");
  add_args(member(body, "args"), e.get());
  return e;
}

ast::ExprPtr TreeReader::case_expr(const Json& body) {
  auto e = make(ast::Kind::kCase, location_of(body));
  for (const Json& item : member(body, "args")) {
    const Json& when = member(item, "CaseWhen");
    ast::ExprPtr condition = expr(member(when, "expr"));
    if (body.contains("arg")) {  // "case x when 1": the condition is x = 1
      auto equal = make(ast::Kind::kBinary, condition->location, "=");
      equal->args.push_back(expr(member(body, "arg")));
      equal->args.push_back(std::move(condition));
      condition = std::move(equal);
    }
    e->args.push_back(std::move(condition));
    e->args.push_back(expr(member(when, "result")));
  }
  if (body.contains("defresult")) {
    e->has_else = true;
    e->args.push_back(expr(member(body, "defresult")));
  }
  return e;
}

ast::ExprPtr TreeReader::cast(const Json& body) {
  const Json& type = member(body, "typeName");
  std::vector<std::string> names = strings_of(member(type, "names"));
  std::string name = names.empty() ? "" : names.back();
  int location = location_of(type);
  if (name == "interval") {
    ast::ExprPtr amount = expr(member(body, "arg"));
    return make(ast::Kind::kInterval, amount->location, amount->text + interval_unit(type));
  }
  auto e = make(ast::Kind::kCast, location, std::move(name));
  e->args.push_back(expr(member(body, "arg")));
  for (const Json& modifier : member(type, "typmods")) {
    e->modifiers.push_back(integer_of(member(member(modifier, "A_Const"), "ival"), "ival"));
  }
  return e;
}

ast::ExprPtr TreeReader::sublink(const Json& body) {
  std::string type = text_of(body, "subLinkType");
  std::vector<std::string> op = strings_of(member(body, "operName"));
  ast::ExprPtr e;
  if (type == "EXISTS_SUBLINK") {
    e = make(ast::Kind::kExists, location_of(body));
  } else if (type == "EXPR_SUBLINK") {
    e = make(ast::Kind::kScalarSubquery, location_of(body));
  } else if (type == "ANY_SUBLINK" && (op.empty() || op[0] == "=")) {
    e = make(ast::Kind::kInSubquery, location_of(body));
  } else if (type == "ALL_SUBLINK" && op[0] == "<>") {
    e = make(ast::Kind::kInSubquery, location_of(body));
    e->negated = true;
  } else {
    return unsupported(body, "any and all with this operator");
  }
  if (body.contains("testexpr")) {
    const Json& test = member(body, "testexpr");
    if (test.contains("RowExpr")) {
      add_args(member(member(test, "RowExpr"), "args"), e.get());
    } else {
      e->args.push_back(expr(test));
    }
  }
  e->subquery = select(member(member(body, "subselect"), "SelectStmt"));
  return e;
}

ast::ExprPtr TreeReader::null_test(const Json& body) {
  auto e = make(ast::Kind::kIsNull, location_of(body));
  e->negated = text_of(body, "nulltesttype") == "IS_NOT_NULL";
  e->args.push_back(expr(member(body, "arg")));
  return e;
}

}  // namespace tailor::weft
