// Logical algebra: what the binder makes of a statement and the optimizer rewrites until it lowers it to
// physical operators. Inputs of a join may use units of the other input ("dependent" joins, the form that
// correlated subqueries are bound to); unnesting removes that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/weft/plan/operator.h"
#include "compiler/weft/plan/rewrite.h"

namespace tailor::weft {

enum class LogicalKind : std::uint8_t { kGet, kSelect, kMap, kJoin, kGroup, kSort };

struct LogicalAggregate {
  AggregateFunction function = AggregateFunction::kCountRows;
  ExprPtr argument;  // null for kCountRows
  const Iu* result = nullptr;
  bool distinct = false;
};

struct Logical;
using LogicalPtr = std::unique_ptr<Logical>;

// Fields are used by the kinds named beside them.
struct Logical {
  explicit Logical(LogicalKind k) : kind(k) {}

  LogicalKind kind;
  std::vector<LogicalPtr> inputs;  // none for kGet, two for kJoin (the first is preserved), else one

  const TableInfo* table = nullptr;            // kGet
  std::string alias;                           // kGet
  std::vector<Scan::Column> columns;           // kGet
  std::vector<ExprPtr> conjuncts;              // kSelect; kJoin: its condition
  std::vector<Map::Computation> computations;  // kMap: each may use those before it
  JoinKind join = JoinKind::kInner;            // kJoin; rows of the first input survive as JoinKind says
  const Iu* mark = nullptr;                    // kJoin with kMark
  std::optional<bool> build_left;              // kJoin: which input has to be built, if that was asked for
  std::vector<const Iu*> keys;                 // kGroup
  std::vector<LogicalAggregate> aggregates;    // kGroup
  std::vector<Sort::Key> order;                // kSort; empty for a mere limit
  std::optional<std::uint64_t> limit;          // kSort

  Logical& input() const { return *inputs[0]; }
};

// A bound statement: the algebra, and the columns to give to the client.
struct Query {
  IuPool ius;
  LogicalPtr root;
  std::vector<const Iu*> columns;
  std::vector<std::string> names;
};

LogicalPtr make_select(LogicalPtr input,
                       std::vector<ExprPtr> conjuncts);  // the input itself if there are none
// Joins a map below instead of making a second one.
LogicalPtr make_map(LogicalPtr input, std::vector<Map::Computation> computations);
LogicalPtr make_join(JoinKind kind, LogicalPtr left, LogicalPtr right, std::vector<ExprPtr> condition);

// The units a node produces.
IuSet available(const Logical& node);
// The units used in the subtree that it does not produce: the outer references of a subquery.
IuSet free_units(const Logical& node);
// Calls the function with every expression of this node (not of its inputs).
void for_each_expr(Logical& node, const std::function<void(ExprPtr&)>& visit);

// A copy with new units for everything the subtree makes; `mapping` receives old -> new.
LogicalPtr clone_renamed(const Logical& node, IuPool* pool, IuMapping* mapping);

// "join(inner; a = b)[get x, get y]": for tests and debugging.
std::string to_string(const Logical& node);

}  // namespace tailor::weft
