// The binder's inside. It walks the syntax tree once; the first error is kept and later ones are dropped, so
// every function returns something that is safe to go on with.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/weft/catalog/catalog.h"
#include "compiler/weft/plan/logical.h"
#include "compiler/weft/plan/make.h"
#include "compiler/weft/sql/ast.h"
#include "compiler/weft/sql/scope.h"

namespace tailor::weft {

class StatementBinder {
 public:
  StatementBinder(const Catalog& catalog, IuPool* ius) : catalog_(catalog), ius_(*ius) {}

  struct Bound {
    LogicalPtr root;
    std::vector<NamedColumn> columns;
  };
  Bound select(const ast::Select& select, const Scope* parent);

  bool failed() const { return failed_; }
  const std::string& message() const { return message_; }
  int location() const { return location_; }

 private:
  // The state of grouping one statement.
  struct Grouping {
    std::unordered_map<const ast::Expr*, ExprPtr> results;
    std::map<std::string, const Iu*> keys;   // identity of the key's expression -> its unit
    std::map<std::string, const Iu*> known;  // identity of an aggregate -> its unit
    std::string distinct_argument;           // identity of what distinct aggregates are of; empty: none yet
    std::vector<Map::Computation> computations;
    std::vector<const Iu*> key_units;
    std::vector<LogicalAggregate> aggregates;
    std::uint64_t input_rows = 0;
    bool active = false;
  };
  // Where an expression is bound: what names mean, and the algebra below it, on which subqueries are joined.
  struct Context {
    const Scope* scope = nullptr;
    LogicalPtr* plan = nullptr;  // null where subqueries are not allowed
    // Results of the aggregates of this statement by their place in the tree; null where there are none.
    const std::unordered_map<const ast::Expr*, ExprPtr>* aggregates = nullptr;
    bool is_condition = false;           // only whether it is true matters: null is as good as false
    const Grouping* grouping = nullptr;  // what names stand for above the grouping; null below it
  };

  ExprPtr fail(int location, const std::string& message);
  ExprPtr checked(int location, Result<ExprPtr> expr);

  // binder_from.cc
  LogicalPtr from(const ast::Select& select, Scope* scope);
  LogicalPtr table(const ast::Table& table, Scope* scope);
  LogicalPtr named_table(const ast::Table& table, Relation* relation, const Scope* parent);
  LogicalPtr join(const ast::Table& table, Scope* scope);
  const ast::CommonTable* common_table(const std::string& name) const;

  // binder_select.cc
  LogicalPtr filter(LogicalPtr plan, const ast::Expr& predicate, Context context, Grouping* grouping);
  void bind_targets(const ast::Select& select, Scope* scope, LogicalPtr* plan, Grouping* grouping,
                    Bound* bound);
  void bind_order(const ast::Select& select, Scope* scope, LogicalPtr* plan, Grouping* grouping,
                  Bound* bound);
  const Iu* order_unit(const ast::Expr& key, const ast::Select& select, Scope* scope, LogicalPtr* plan,
                       Grouping* grouping, const Bound& bound);
  const Iu* unit_of(ExprPtr expr, const std::string& name, LogicalPtr* plan);

  // binder_group.cc
  void group(const ast::Select& select, Scope* scope, LogicalPtr* plan, Grouping* grouping);
  void bind_group_keys(const ast::Select& select, const Context& context, Grouping* grouping);
  void collect_aggregates(const ast::Expr& expr, const Context& context, Grouping* grouping);
  ExprPtr aggregate(const ast::Expr& call, const Context& context, Grouping* grouping);
  const Iu* aggregate_unit(AggregateFunction function, bool distinct, const Expr* argument, int location,
                           Grouping* grouping);
  ExprPtr after_grouping(ExprPtr expr, int location, const Scope& scope, const Grouping& grouping);

  // binder_expr.cc
  ExprPtr expr(const ast::Expr& e, const Context& context);
  ExprPtr column(const ast::Expr& e, const Context& context);
  ExprPtr number(const ast::Expr& e);
  ExprPtr binary(const ast::Expr& e, const Context& context);
  ExprPtr plus_interval(const ast::Expr& e, const Context& context);
  ExprPtr logic(const ast::Expr& e, const Context& context);
  ExprPtr between(const ast::Expr& e, const Context& context);
  ExprPtr in_list(const ast::Expr& e, const Context& context);
  ExprPtr case_expr(const ast::Expr& e, const Context& context);
  ExprPtr cast(const ast::Expr& e, const Context& context);
  ExprPtr call(const ast::Expr& e, const Context& context);
  ExprPtr burn(const ast::Expr& e, const Context& context);
  ExprPtr substring(const ast::Expr& e, const Context& context);
  ExprPtr coalesce(const ast::Expr& e, const Context& context);
  std::int64_t whole_number(const ast::Expr& e);

  // binder_subquery.cc
  // True when the conjunct became a semi or anti join.
  bool join_conjunct(const ast::Expr& e, bool negated, const Context& context);
  ExprPtr scalar_subquery(const ast::Expr& e, const Context& context);
  ExprPtr mark_subquery(const ast::Expr& e, const Context& context);
  std::vector<ExprPtr> membership(const ast::Expr& e, const Bound& bound, bool negated,
                                  const Context& context);
  void check_visible(const Logical& subquery, int location, const Context& context);
  void make_nullable(const Logical& node);

  const Catalog& catalog_;
  IuPool& ius_;
  std::vector<const ast::CommonTable*> common_tables_;
  bool failed_ = false;
  std::string message_;
  int location_ = -1;
};

// True for calls of aggregate functions.
bool is_aggregate(const ast::Expr& e);
bool has_subquery(const ast::Expr& e);

}  // namespace tailor::weft
