#include "compiler/weft/sql/tree_reader.h"

#include <charconv>

#include "compiler/weft/sql/json_access.h"

namespace tailor::weft {

void TreeReader::fail(int location, const std::string& message) {
  if (failed()) return;
  message_ = message;
  location_ = location;
}

ast::ExprPtr TreeReader::unsupported(const Json& body, const std::string& what) {
  fail(location_of(body), "weft does not have " + what);
  return std::make_unique<ast::Expr>();
}

std::unique_ptr<ast::Select> TreeReader::select(const Json& node) {
  auto result = std::make_unique<ast::Select>();
  if (text_of(node, "op") != "SETOP_NONE") {
    fail(first_location(member(node, "rarg")), "weft does not have union, intersect and except");
    return result;
  }
  if (const Json& windows = member(node, "windowClause"); !windows.empty())
    fail(first_location(windows), "weft does not have windows");
  if (const Json& lists = member(node, "valuesLists"); !lists.empty())
    fail(first_location(lists), "weft does not have lists of values");
  read_with(node, result.get());
  read_targets(node, result.get());
  for (const Json& item : member(node, "fromClause")) result->from.push_back(table(item));
  if (node.contains("whereClause")) result->where = expr(member(node, "whereClause"));
  for (const Json& item : member(node, "groupClause")) result->group_by.push_back(expr(item));
  if (node.contains("havingClause")) result->having = expr(member(node, "havingClause"));
  read_order(node, result.get());
  read_limit(node, result.get());
  return result;
}

void TreeReader::read_with(const Json& node, ast::Select* into) {
  if (!node.contains("withClause")) return;
  const Json& with = member(node, "withClause");
  if (flag_of(with, "recursive")) fail(location_of(with), "weft does not have recursive queries");
  for (const Json& item : member(with, "ctes")) {
    const Json& body = member(item, "CommonTableExpr");
    const Json& query = member(body, "ctequery");
    if (!query.contains("SelectStmt")) return fail(location_of(body), "only a select can be named by with");
    into->with.push_back({text_of(body, "ctename"), strings_of(member(body, "aliascolnames")),
                          select(member(query, "SelectStmt"))});
  }
}

void TreeReader::read_targets(const Json& node, ast::Select* into) {
  const Json& distinct = member(node, "distinctClause");
  into->distinct = !distinct.empty();
  if (into->distinct && !distinct[0].empty())
    fail(first_location(distinct), "weft does not have distinct on");
  for (const Json& item : member(node, "targetList")) {
    const Json& body = member(item, "ResTarget");
    into->targets.push_back({expr(member(body, "val")), text_of(body, "name")});
  }
}

void TreeReader::read_order(const Json& node, ast::Select* into) {
  for (const Json& item : member(node, "sortClause")) {
    const Json& body = member(item, "SortBy");
    ast::OrderKey key;
    key.expr = expr(member(body, "node"));
    key.descending = text_of(body, "sortby_dir") == "SORTBY_DESC";
    std::string nulls = text_of(body, "sortby_nulls");
    if (nulls == "SORTBY_NULLS_FIRST") key.nulls_first = true;
    if (nulls == "SORTBY_NULLS_LAST") key.nulls_first = false;
    into->order_by.push_back(std::move(key));
  }
}

void TreeReader::read_limit(const Json& node, ast::Select* into) {
  if (node.contains("limitOffset"))
    fail(first_location(member(node, "limitOffset")), "weft does not have offset");
  if (!node.contains("limitCount")) return;
  ast::ExprPtr count = expr(member(node, "limitCount"));
  if (count->kind == ast::Kind::kNull) return;  // "limit all"
  if (count->kind != ast::Kind::kInteger) return fail(count->location, "a limit has to be a whole number");
  std::uint64_t rows = 0;
  const char* end = count->text.data() + count->text.size();
  auto [stop, error] = std::from_chars(count->text.data(), end, rows);
  if (error != std::errc() || stop != end) return fail(count->location, "a limit has to be a whole number");
  into->limit = rows;
  into->limit_location = count->location;
}

ast::Table TreeReader::table(const Json& node) {
  ast::Table result;
  if (node.contains("RangeVar")) {
    const Json& body = member(node, "RangeVar");
    result.name = text_of(body, "relname");
    result.location = location_of(body);
    result.alias = text_of(member(body, "alias"), "aliasname");
    result.column_aliases = strings_of(member(member(body, "alias"), "colnames"));
    return result;
  }
  if (node.contains("RangeSubselect")) {
    const Json& body = member(node, "RangeSubselect");
    result.kind = ast::TableKind::kSubquery;
    result.alias = text_of(member(body, "alias"), "aliasname");
    result.column_aliases = strings_of(member(member(body, "alias"), "colnames"));
    result.subquery = select(member(member(body, "subquery"), "SelectStmt"));
    if (flag_of(body, "lateral"))
      fail(first_location(member(body, "subquery")), "weft does not have lateral");
    return result;
  }
  if (node.contains("JoinExpr")) return join(member(node, "JoinExpr"));
  fail(first_location(node), "weft does not have this kind of table in from");
  return result;
}

ast::Table TreeReader::join(const Json& body) {
  ast::Table result;
  result.kind = ast::TableKind::kJoin;
  std::string type = text_of(body, "jointype");
  if (type == "JOIN_LEFT") result.join = ast::JoinKind::kLeft;
  if (type == "JOIN_RIGHT") result.join = ast::JoinKind::kRight;
  if (type == "JOIN_FULL") fail(first_location(member(body, "rarg")), "weft does not have full outer joins");
  if (flag_of(body, "isNatural") || body.contains("usingClause"))
    fail(first_location(member(body, "rarg")), "join with on: weft does not have natural or using");
  result.left = std::make_unique<ast::Table>(table(member(body, "larg")));
  result.right = std::make_unique<ast::Table>(table(member(body, "rarg")));
  if (body.contains("quals")) result.condition = expr(member(body, "quals"));
  return result;
}

}  // namespace tailor::weft
