#include <fmt/format.h>

#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {
namespace {

void attach(JoinKind kind, LogicalPtr* plan, LogicalPtr right, std::vector<ExprPtr> condition) {
  *plan = make_join(kind, std::move(*plan), std::move(right), std::move(condition));
}

}  // namespace

void StatementBinder::make_nullable(const Logical& node) {
  // Units are owned by the pool and not const there; the binder is the one that still shapes them.
  for (const Iu* iu : available(node)) const_cast<Iu*>(iu)->type.nullable = true;
}

// Above a grouping a subquery may refer to group keys only.
void StatementBinder::check_visible(const Logical& subquery, int location, const Context& context) {
  if (failed_ || context.grouping == nullptr || !context.grouping->active) return;
  IuSet visible = available(**context.plan);
  IuSet used = free_units(subquery);
  for (const Relation& relation : context.scope->relations) {
    for (const NamedColumn& column : relation.columns) {
      if (!used.contains(column.iu) || visible.contains(column.iu)) continue;
      fail(location, fmt::format("{} has to be in group by to be used in this subquery", column.name));
    }
  }
}

// The condition under which a row of the subquery counts. For "not in" a row whose comparison is null counts
// too: one such row makes "not in" not true.
std::vector<ExprPtr> StatementBinder::membership(const ast::Expr& e, const Bound& bound, bool negated,
                                                 const Context& context) {
  std::vector<ExprPtr> condition;
  if (e.kind == ast::Kind::kExists) return condition;
  if (e.args.size() != bound.columns.size()) {
    fail(e.location, fmt::format("the subquery has {} columns, not {}", bound.columns.size(), e.args.size()));
    return condition;
  }
  for (std::size_t i = 0; i < e.args.size(); ++i) {
    ExprPtr left = expr(*e.args[i], context);
    if (context.grouping != nullptr) {
      left = after_grouping(std::move(left), e.args[i]->location, *context.scope, *context.grouping);
    }
    ExprPtr right = make_iu(bound.columns[i].iu);
    ExprPtr equal = checked(e.location, make_compare(CompareOp::kEqual, left->clone(), right->clone()));
    if (negated && equal->type.nullable) {
      std::vector<ExprPtr> either;
      either.push_back(std::move(equal));
      if (left->type.nullable) either.push_back(make_is_null(std::move(left)));
      if (right->type.nullable) either.push_back(make_is_null(std::move(right)));
      equal = make_logic(ExprKind::kOr, std::move(either));
    }
    condition.push_back(std::move(equal));
  }
  return condition;
}

bool StatementBinder::join_conjunct(const ast::Expr& e, bool negated, const Context& context) {
  if (e.kind == ast::Kind::kNot) return join_conjunct(*e.args[0], !negated, context);
  if (e.kind != ast::Kind::kExists && e.kind != ast::Kind::kInSubquery) return false;
  bool anti = negated != e.negated;
  Bound bound = select(*e.subquery, context.scope);
  check_visible(*bound.root, e.location, context);
  if (failed_) return true;
  std::vector<ExprPtr> condition = membership(e, bound, anti, context);
  attach(anti ? JoinKind::kAnti : JoinKind::kSemi, context.plan, std::move(bound.root), std::move(condition));
  return true;
}

ExprPtr StatementBinder::mark_subquery(const ast::Expr& e, const Context& context) {
  if (context.plan == nullptr) return fail(e.location, "a subquery is not possible here");
  Bound bound = select(*e.subquery, context.scope);
  check_visible(*bound.root, e.location, context);
  if (failed_) return make_constant(Value::boolean(false));
  std::vector<ExprPtr> condition = membership(e, bound, e.negated, context);
  // Where the value itself is used, false and null would have to differ.
  for (const ExprPtr& conjunct : condition) {
    if (!context.is_condition && (conjunct->type.nullable || conjunct->kind() == ExprKind::kOr)) {
      return fail(e.location,
                  "in with values that can be null is possible in conditions only, not below not");
    }
  }
  attach(JoinKind::kMark, context.plan, std::move(bound.root), std::move(condition));
  const Iu* mark = ius_.make("mark", Type::boolean(), Range::all());
  (*context.plan)->mark = mark;
  ExprPtr result = make_iu(mark);
  return e.negated ? make_not(std::move(result)) : std::move(result);
}

ExprPtr StatementBinder::scalar_subquery(const ast::Expr& e, const Context& context) {
  if (context.plan == nullptr) return fail(e.location, "a subquery is not possible here");
  Bound bound = select(*e.subquery, context.scope);
  check_visible(*bound.root, e.location, context);
  if (failed_) return make_constant(Value::boolean(false));
  if (bound.columns.size() != 1) return fail(e.location, "this subquery has to have one column");
  const Iu* value = bound.columns[0].iu;
  if (!available(*bound.root).contains(value)) {
    return fail(e.location, "a subquery has to compute its column from its own tables");
  }
  make_nullable(*bound.root);
  attach(JoinKind::kSingle, context.plan, std::move(bound.root), {});
  return make_iu(value);
}

}  // namespace tailor::weft
