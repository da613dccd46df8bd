// The syntax of the SQL subset weft takes, free of names' meanings and types.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tailor::weft::ast {

enum class Kind : std::uint8_t {
  kColumn,   // text: name, qualifier: table or empty
  kStar,     // qualifier: table or empty
  kInteger,  // text: digits
  kDecimal,  // text: digits with a point
  kString,   // text
  kBool,     // text: "true" or "false"
  kNull,
  kInterval,  // text: "3 month"
  kUnary,     // text: "-"; args: 1
  kBinary,    // text: the operator; args: 2
  kAnd,
  kOr,
  kNot,
  kCall,            // text: function; args; distinct; star for count(*)
  kCase,            // args: when, then, ..., else (if has_else)
  kLike,            // args: input, pattern
  kInList,          // args: input, values ...
  kBetween,         // args: input, low, high
  kIsNull,          // args: 1
  kDistinctFrom,    // args: 2
  kCast,            // text: type; args: 1; modifiers
  kExists,          // subquery
  kInSubquery,      // args: input ...; subquery
  kScalarSubquery,  // subquery
};

struct Select;
struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Expr {
  Kind kind = Kind::kNull;
  int location = -1;  // byte offset in the text, -1 unknown
  std::string text;
  std::string qualifier;
  std::vector<ExprPtr> args;
  std::vector<std::int64_t> modifiers;
  std::unique_ptr<Select> subquery;
  bool negated = false;  // kLike, kInList, kBetween, kInSubquery, kIsNull, kDistinctFrom
  bool distinct = false;
  bool star = false;
  bool has_else = false;
};

enum class TableKind : std::uint8_t { kNamed, kSubquery, kJoin };
enum class JoinKind : std::uint8_t { kInner, kLeft, kRight };

struct Table {
  TableKind kind = TableKind::kNamed;
  int location = -1;
  std::string name;  // kNamed
  std::string alias;
  std::vector<std::string> column_aliases;
  std::unique_ptr<Select> subquery;
  JoinKind join = JoinKind::kInner;
  std::unique_ptr<Table> left;
  std::unique_ptr<Table> right;
  ExprPtr condition;  // of a join; null for a cross join
};

struct Target {
  ExprPtr expr;
  std::string name;  // empty if not given
};

struct OrderKey {
  ExprPtr expr;
  bool descending = false;
  std::optional<bool> nulls_first;
};

struct CommonTable {
  std::string name;
  std::vector<std::string> column_aliases;
  std::unique_ptr<Select> query;
};

struct Select {
  std::vector<CommonTable> with;
  bool distinct = false;
  std::vector<Target> targets;
  std::vector<Table> from;
  ExprPtr where;
  std::vector<ExprPtr> group_by;
  ExprPtr having;
  std::vector<OrderKey> order_by;
  std::optional<std::uint64_t> limit;
  int limit_location = -1;
};

}  // namespace tailor::weft::ast
