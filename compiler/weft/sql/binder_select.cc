#include <fmt/format.h>

#include <algorithm>

#include "compiler/weft/plan/print.h"
#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {
namespace {

void split(const ast::Expr& e, std::vector<const ast::Expr*>* conjuncts) {
  if (e.kind != ast::Kind::kAnd) return conjuncts->push_back(&e);
  for (const auto& arg : e.args) split(*arg, conjuncts);
}

std::string name_of(const ast::Target& target) {
  if (!target.name.empty()) return target.name;
  switch (target.expr->kind) {
    case ast::Kind::kColumn:
    case ast::Kind::kCall:
      return target.expr->text;
    case ast::Kind::kCase:
      return "case";
    default:
      return "column";
  }
}

}  // namespace

bool has_subquery(const ast::Expr& e) {
  return e.subquery != nullptr ||
         std::any_of(e.args.begin(), e.args.end(), [](const auto& arg) { return has_subquery(*arg); });
}

ExprPtr StatementBinder::fail(int location, const std::string& message) {
  if (!failed_) {
    failed_ = true;
    message_ = message;
    location_ = location;
  }
  return make_constant(Value::boolean(false));
}

ExprPtr StatementBinder::checked(int location, Result<ExprPtr> e) {
  if (!e) return fail(location, e.error().message);
  return *std::move(e);
}

StatementBinder::Bound StatementBinder::select(const ast::Select& select, const Scope* parent) {
  std::size_t outer_tables = common_tables_.size();
  for (const auto& common : select.with) common_tables_.push_back(&common);
  Scope scope;
  scope.parent = parent;
  Bound bound;
  Grouping grouping;
  LogicalPtr plan = from(select, &scope);
  if (!plan) {
    fail(select.targets.empty() ? -1 : select.targets[0].expr->location,
         "a select without from has no rows in weft");
    plan = std::make_unique<Logical>(LogicalKind::kSort);
  } else if (!failed_) {
    if (select.where) plan = filter(std::move(plan), *select.where, {.scope = &scope}, nullptr);
    group(select, &scope, &plan, &grouping);
    Context context{.scope = &scope, .aggregates = &grouping.results, .grouping = &grouping};
    if (select.having) plan = filter(std::move(plan), *select.having, context, &grouping);
    bind_targets(select, &scope, &plan, &grouping, &bound);
    if (!failed_) bind_order(select, &scope, &plan, &grouping, &bound);
  }
  common_tables_.resize(outer_tables);
  bound.root = std::move(plan);
  return bound;
}

// Conjuncts without a subquery go below the joins that the others become.
LogicalPtr StatementBinder::filter(LogicalPtr plan, const ast::Expr& predicate, Context context,
                                   Grouping* grouping) {
  std::vector<const ast::Expr*> conjuncts;
  split(predicate, &conjuncts);
  std::stable_partition(conjuncts.begin(), conjuncts.end(),
                        [](const ast::Expr* e) { return !has_subquery(*e); });
  context.plan = &plan;
  context.is_condition = true;
  std::vector<ExprPtr> bound;
  for (const ast::Expr* conjunct : conjuncts) {
    if (has_subquery(*conjunct)) {
      plan = make_select(std::move(plan), std::move(bound));
      bound.clear();
      if (join_conjunct(*conjunct, false, context)) continue;
    }
    ExprPtr e = expr(*conjunct, context);
    if (grouping != nullptr) e = after_grouping(std::move(e), conjunct->location, *context.scope, *grouping);
    if (e->type.id != TypeId::kBool) fail(conjunct->location, "a condition has to be bool");
    split_conjuncts(std::move(e), &bound);
  }
  return make_select(std::move(plan), std::move(bound));
}

const Iu* StatementBinder::unit_of(ExprPtr e, const std::string& name, LogicalPtr* plan) {
  if (e->kind() == ExprKind::kIu) return as<IuExpr>(*e).iu;
  Iu* unit = ius_.make(name, e->type, e->range);
  std::vector<Map::Computation> computation;
  computation.push_back({unit, std::move(e)});
  *plan = make_map(std::move(*plan), std::move(computation));
  return unit;
}

void StatementBinder::bind_targets(const ast::Select& select, Scope* scope, LogicalPtr* plan,
                                   Grouping* grouping, Bound* bound) {
  Context context{.scope = scope, .plan = plan, .aggregates = &grouping->results, .grouping = grouping};
  for (const auto& target : select.targets) {
    if (target.expr->kind == ast::Kind::kStar) {
      if (grouping->active) fail(target.expr->location, "* does not go with group by");
      for (const Relation& relation : scope->relations) {
        bool wanted = target.expr->qualifier.empty() || target.expr->qualifier == relation.alias;
        if (wanted)
          bound->columns.insert(bound->columns.end(), relation.columns.begin(), relation.columns.end());
      }
      continue;
    }
    ExprPtr e = expr(*target.expr, context);
    e = after_grouping(std::move(e), target.expr->location, *scope, *grouping);
    std::string name = name_of(target);
    if (name.empty()) name = to_string(*e);
    bound->columns.push_back({name, unit_of(std::move(e), name, plan)});
  }
  if (!select.distinct) return;
  auto node = std::make_unique<Logical>(LogicalKind::kGroup);
  for (const NamedColumn& column : bound->columns) {
    if (std::find(node->keys.begin(), node->keys.end(), column.iu) == node->keys.end())
      node->keys.push_back(column.iu);
  }
  node->inputs.push_back(std::move(*plan));
  *plan = std::move(node);
}

const Iu* StatementBinder::order_unit(const ast::Expr& key, const ast::Select& select, Scope* scope,
                                      LogicalPtr* plan, Grouping* grouping, const Bound& bound) {
  if (key.kind == ast::Kind::kInteger) {
    std::int64_t position = whole_number(key);
    if (position >= 1 && position <= static_cast<std::int64_t>(bound.columns.size()))
      return bound.columns[position - 1].iu;
    fail(key.location, "there is no such column in the select list");
    return nullptr;
  }
  if (key.kind == ast::Kind::kColumn && key.qualifier.empty()) {
    for (const NamedColumn& column : bound.columns) {
      if (column.name == key.text) return column.iu;
    }
  }
  Context context{.scope = scope, .plan = plan, .aggregates = &grouping->results, .grouping = grouping};
  ExprPtr e = after_grouping(expr(key, context), key.location, *scope, *grouping);
  if (!select.distinct) return unit_of(std::move(e), "sort key", plan);
  bool selected = e->kind() == ExprKind::kIu &&
                  std::any_of(bound.columns.begin(), bound.columns.end(),
                              [&](const NamedColumn& column) { return column.iu == as<IuExpr>(*e).iu; });
  if (selected) return as<IuExpr>(*e).iu;
  fail(key.location, "with distinct, order by takes selected columns");
  return nullptr;
}

void StatementBinder::bind_order(const ast::Select& select, Scope* scope, LogicalPtr* plan,
                                 Grouping* grouping, Bound* bound) {
  if (select.order_by.empty() && !select.limit) return;
  auto node = std::make_unique<Logical>(LogicalKind::kSort);
  node->limit = select.limit;
  for (const auto& key : select.order_by) {
    const Iu* unit = order_unit(*key.expr, select, scope, plan, grouping, *bound);
    if (unit == nullptr) return;
    // As in PostgreSQL: nulls sort as if larger than everything else.
    node->order.push_back({unit, key.descending, key.nulls_first.value_or(key.descending)});
  }
  node->inputs.push_back(std::move(*plan));
  // Unnesting evaluates it once for all bindings, where a limit would be one of all of them.
  if (select.limit && !free_units(*node).empty())
    fail(select.limit_location, "a limit in a correlated subquery is not supported");
  *plan = std::move(node);
}

}  // namespace tailor::weft
