#include "compiler/weft/sql/parser.h"

#include <pg_query.h>

#include "compiler/weft/sql/json_access.h"
#include "compiler/weft/sql/sql_error.h"
#include "compiler/weft/sql/tree_reader.h"
#include "proto/base/errors.h"

namespace tailor::weft {
namespace {

// Frees what libpg-query returned on every way out.
struct ParseTree {
  explicit ParseTree(const std::string& sql) : result(pg_query_parse(sql.c_str())) {}
  ~ParseTree() { pg_query_free_parse_result(result); }
  ParseTree(const ParseTree&) = delete;
  ParseTree& operator=(const ParseTree&) = delete;
  PgQueryParseResult result;
};

// Where a statement's first word stands, or the comment before it.
int place_of(const std::string& sql, const nlohmann::json& statement) {
  std::size_t at =
      sql.find_first_not_of(" \t\r\n;", static_cast<std::size_t>(integer_of(statement, "stmt_location")));
  return static_cast<int>(at == std::string::npos ? sql.size() : at);
}

}  // namespace

Result<std::unique_ptr<ast::Select>> parse_select(const QueryText& sql) {
  const std::string& text = sql.text;
  if (std::size_t zero = text.find('\0'); zero != std::string::npos)
    return sql_error(sql, static_cast<int>(zero), "the text has a byte of value 0");
  ParseTree tree(text);
  if (tree.result.error != nullptr) {
    return sql_error(sql, tree.result.error->cursorpos - 1, tree.result.error->message);
  }
  nlohmann::json root = nlohmann::json::parse(tree.result.parse_tree, nullptr, false);
  if (root.is_discarded()) return internal("the parser's answer is not readable");
  const nlohmann::json& statements = member(root, "stmts");
  if (statements.empty()) return sql_error(sql, static_cast<int>(text.size()), "a statement is expected");
  if (statements.size() > 1)
    return sql_error(sql, place_of(text, statements[1]), "one statement is expected");
  const nlohmann::json& statement = member(statements[0], "stmt");
  if (!statement.contains("SelectStmt"))
    return sql_error(sql, place_of(text, statements[0]), "weft runs select statements only");
  TreeReader reader(text);
  auto select = reader.select(statement["SelectStmt"]);
  if (reader.failed()) return sql_error(sql, reader.location(), reader.message());
  return select;
}

}  // namespace tailor::weft
