#include "compiler/weft/sql/parser.h"

#include <pg_query.h>

#include "compiler/weft/sql/json_access.h"
#include "compiler/weft/sql/sql_error.h"
#include "compiler/weft/sql/tree_reader.h"

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

}  // namespace

Result<std::unique_ptr<ast::Select>> parse_select(const std::string& sql) {
  if (sql.find('\0') != std::string::npos) return Error{"the text has a byte of value 0"};
  ParseTree tree(sql);
  if (tree.result.error != nullptr) {
    return sql_error(sql, tree.result.error->cursorpos - 1, tree.result.error->message);
  }
  nlohmann::json root = nlohmann::json::parse(tree.result.parse_tree, nullptr, false);
  if (root.is_discarded()) return Error{"the parser's answer is not readable"};
  const nlohmann::json& statements = member(root, "stmts");
  if (statements.size() != 1) return Error{"one statement is expected"};
  const nlohmann::json& statement = member(statements[0], "stmt");
  if (!statement.contains("SelectStmt")) return Error{"weft runs select statements only"};
  TreeReader reader(sql);
  auto select = reader.select(statement["SelectStmt"]);
  if (reader.failed()) return sql_error(sql, reader.location(), reader.message());
  return select;
}

}  // namespace tailor::weft
