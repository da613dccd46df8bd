#include "compiler/weft/optimizer/planner.h"

#include "compiler/weft/optimizer/cardinality.h"
#include "compiler/weft/optimizer/distinct_aggregates.h"
#include "compiler/weft/optimizer/join_order.h"
#include "compiler/weft/optimizer/lower.h"
#include "compiler/weft/optimizer/push_down.h"
#include "compiler/weft/optimizer/unnest.h"
#include "compiler/weft/sql/parser.h"
#include "compiler/weft/sql/sql_error.h"

namespace tailor::weft {

Result<ReadQuery> read_query(const QueryText& sql, const Catalog& catalog, const PlannerOptions& options) {
  auto tree = parse_select(sql);
  if (!tree) return tree.error();
  auto hinted = read_hints(sql, options);
  if (!hinted) return hinted.error();
  auto query = bind_select(**tree, sql, catalog);
  if (!query) return query.error();
  return ReadQuery{*std::move(query), *std::move(hinted)};
}

Result<Plan> optimise(const QueryText& sql, ReadQuery read) {
  Query& query = read.query;
  estimate_distinct(*query.root);
  unnest(&query.root, &query.ius);
  query.root = push_down(std::move(query.root));
  split_distinct(&query.root, &query.ius);
  auto ordered = order_joins(std::move(query.root), read.options.leading);
  // Without the hint every order is possible.
  if (!ordered) return sql_error(sql, read.options.leading_location, ordered.error().message);
  query.root = *std::move(ordered);
  return lower(std::move(query), read.options);
}

Result<Plan> plan_query(const QueryText& sql, const Catalog& catalog, const PlannerOptions& options) {
  auto read = read_query(sql, catalog, options);
  if (!read) return read.error();
  return optimise(sql, *std::move(read));
}

}  // namespace tailor::weft
