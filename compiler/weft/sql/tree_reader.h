// Reads the PostgreSQL parse tree (JSON) into weft's syntax tree. Remembers the first thing it cannot take.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "compiler/weft/sql/ast.h"

namespace tailor::weft {

class TreeReader {
 public:
  // `sql` is the text the tree was made from; it must outlive the reader.
  explicit TreeReader(std::string_view sql) : sql_(sql) {}

  // After a failure the result is of no use; see failed().
  std::unique_ptr<ast::Select> select(const nlohmann::json& node);

  bool failed() const { return !message_.empty(); }
  const std::string& message() const { return message_; }
  int location() const { return location_; }

 private:
  using Json = nlohmann::json;

  void fail(int location, const std::string& message);
  ast::ExprPtr unsupported(const Json& body, const std::string& what);

  // tree_reader.cc: statements
  void read_with(const Json& select, ast::Select* into);
  void read_targets(const Json& select, ast::Select* into);
  void read_order(const Json& select, ast::Select* into);
  void read_limit(const Json& select, ast::Select* into);
  ast::Table table(const Json& node);
  ast::Table join(const Json& body);

  // tree_reader_expr.cc: expressions. A node is an object of one member, whose name is its kind.
  ast::ExprPtr expr(const Json& node);
  ast::ExprPtr expr_of_kind(const std::string& kind, const Json& body);
  ast::ExprPtr column(const Json& body);
  ast::ExprPtr constant(const Json& body);
  ast::ExprPtr operation(const Json& body);
  ast::ExprPtr plain_operator(const Json& body);
  ast::ExprPtr bool_operation(const Json& body);
  ast::ExprPtr call(const Json& body);
  ast::ExprPtr case_expr(const Json& body);
  ast::ExprPtr cast(const Json& body);
  ast::ExprPtr sublink(const Json& body);
  ast::ExprPtr null_test(const Json& body);
  void add_args(const Json& list, ast::Expr* into);

  // A whole number as the tree has it, but for negative ones, which the tree shows like 0: see the text.
  std::string whole_number(const Json& body) const;

  std::string_view sql_;
  int depth_ = 0;  // of nested expressions and statements
  std::string message_;
  int location_ = -1;
};

}  // namespace tailor::weft
