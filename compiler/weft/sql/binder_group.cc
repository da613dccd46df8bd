#include <fmt/format.h>

#include <algorithm>

#include "compiler/weft/plan/bounds.h"
#include "compiler/weft/plan/print.h"
#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {
namespace {

const char* const kAggregateNames[] = {"count", "sum", "avg", "min", "max"};

// The range of a sum of at most `rows` values, and whether it may leave 128 bits.
RangeResult sum_range(const Range& range, std::uint64_t rows) {
  Range count{1, std::max<Int128>(rows, 1)};
  return multiply(range, count);
}

std::string name_of(AggregateFunction function, const Expr* argument) {
  if (argument == nullptr) return "count(*)";
  const char* names[] = {"count", "count", "sum", "min", "max", "any"};
  return fmt::format("{}({})", names[static_cast<int>(function)], to_string(*argument));
}

}  // namespace

bool is_aggregate(const ast::Expr& e) {
  return e.kind == ast::Kind::kCall && std::find(std::begin(kAggregateNames), std::end(kAggregateNames),
                                                 e.text) != std::end(kAggregateNames);
}

void StatementBinder::group(const ast::Select& select, Scope* scope, LogicalPtr* plan, Grouping* grouping) {
  Context context{.scope = scope, .plan = plan};
  grouping->active = !select.group_by.empty() || select.having != nullptr;
  grouping->input_rows = max_rows(**plan);
  bind_group_keys(select, context, grouping);
  for (const auto& target : select.targets) collect_aggregates(*target.expr, context, grouping);
  if (select.having) collect_aggregates(*select.having, context, grouping);
  for (const auto& key : select.order_by) collect_aggregates(*key.expr, context, grouping);
  if (!grouping->active) return;
  *plan = make_map(std::move(*plan), std::move(grouping->computations));
  auto node = std::make_unique<Logical>(LogicalKind::kGroup);
  node->keys = grouping->key_units;
  node->aggregates = std::move(grouping->aggregates);
  node->inputs.push_back(std::move(*plan));
  *plan = std::move(node);
}

void StatementBinder::bind_group_keys(const ast::Select& select, const Context& context, Grouping* grouping) {
  for (const auto& item : select.group_by) {
    const ast::Expr* source = item.get();
    if (source->kind == ast::Kind::kInteger) {
      std::int64_t position = whole_number(*source);
      if (position < 1 || position > static_cast<std::int64_t>(select.targets.size())) {
        fail(source->location, "there is no such column in the select list");
        return;
      }
      source = select.targets[position - 1].expr.get();
    } else if (source->kind == ast::Kind::kColumn && source->qualifier.empty() &&
               context.scope->find("", source->text).found == Scope::Found::kNone) {
      for (const auto& target : select.targets) {
        if (target.name == source->text) source = target.expr.get();
      }
    }
    ExprPtr key = expr(*source, context);
    std::string identity = identity_of(*key);
    if (grouping->keys.contains(identity)) continue;
    const Iu* unit = nullptr;
    if (key->kind() == ExprKind::kIu) {
      unit = as<IuExpr>(*key).iu;
    } else {
      unit = ius_.make(to_string(*key), key->type, key->range);
      grouping->computations.push_back({unit, std::move(key)});
    }
    grouping->keys[identity] = unit;
    grouping->key_units.push_back(unit);
  }
}

void StatementBinder::collect_aggregates(const ast::Expr& e, const Context& context, Grouping* grouping) {
  if (is_aggregate(e)) {
    grouping->active = true;
    ExprPtr result = aggregate(e, context, grouping);
    grouping->results[&e] = std::move(result);
    return;
  }
  for (const auto& arg : e.args) collect_aggregates(*arg, context, grouping);
}

ExprPtr StatementBinder::aggregate(const ast::Expr& call, const Context& context, Grouping* grouping) {
  using enum AggregateFunction;
  int location = call.location;
  if (call.star) {
    if (call.text != "count") return fail(location, "only count takes *");
    return make_iu(aggregate_unit(kCountRows, false, nullptr, location, grouping));
  }
  if (call.args.size() != 1) return fail(location, fmt::format("{} takes one argument", call.text));
  ExprPtr argument = expr(*call.args[0], context);
  if (call.text == "min" || call.text == "max") {
    return make_iu(
        aggregate_unit(call.text == "min" ? kMin : kMax, false, argument.get(), location, grouping));
  }
  if (call.text == "count") {
    AggregateFunction function = argument->type.nullable || call.distinct ? kCount : kCountRows;
    const Expr* counted = function == kCount ? argument.get() : nullptr;
    return make_iu(aggregate_unit(function, call.distinct, counted, location, grouping));
  }
  if (!argument->type.is_numeric()) {
    return fail(location, fmt::format("{} takes numbers, not {}", call.text, to_string(argument->type)));
  }
  ExprPtr sum = make_iu(aggregate_unit(kSum, call.distinct, argument.get(), location, grouping));
  if (call.text == "sum") return sum;
  bool rows = !argument->type.nullable && !call.distinct;
  const Iu* count = aggregate_unit(rows ? kCountRows : kCount, call.distinct, rows ? nullptr : argument.get(),
                                   location, grouping);
  return checked(location, make_arithmetic(ArithmeticOp::kDivide, std::move(sum), make_iu(count)));
}

const Iu* StatementBinder::aggregate_unit(AggregateFunction function, bool distinct, const Expr* argument,
                                          int location, Grouping* grouping) {
  std::string identity = fmt::format("{} {} {}", static_cast<int>(function), distinct,
                                     argument == nullptr ? "" : identity_of(*argument));
  if (const Iu*& known = grouping->known[identity]; known != nullptr) return known;
  if (distinct) {
    std::string own = identity_of(*argument);
    if (!grouping->distinct_argument.empty() && grouping->distinct_argument != own)
      fail(location, "distinct aggregates of different arguments in one select are not supported");
    grouping->distinct_argument = own;
  }
  bool no_group_is_possible = grouping->key_units.empty();
  bool has_value = argument == nullptr || (!argument->type.nullable && !no_group_is_possible);
  LogicalAggregate aggregate{function, argument == nullptr ? nullptr : argument->clone(), nullptr, distinct};
  Iu* result = nullptr;
  std::string name = name_of(function, argument);
  // A count is at least 1 where every group has a row and the argument is never null.
  Range counts{has_value && !no_group_is_possible ? 1 : 0, static_cast<Int128>(grouping->input_rows)};
  switch (function) {
    case AggregateFunction::kCountRows:
    case AggregateFunction::kCount:
      result = ius_.make(name, Type::int64(), counts);
      break;
    case AggregateFunction::kSum: {
      RangeResult sum = sum_range(argument->range, grouping->input_rows);
      if (sum.may_overflow) fail(location, "this sum could need more than 128 bits");
      bool integer = argument->type.id != TypeId::kDecimal;
      result = ius_.make(name, numeric_type(sum.range, argument->type.scale, integer, !has_value), sum.range);
      break;
    }
    default:
      result = ius_.make(name, argument->type.with_null(!has_value), argument->range);
      break;
  }
  if (!result->range.fits(kRange64) && result->type.id == TypeId::kInt64) result->range = {0, INT64_MAX};
  aggregate.result = result;
  grouping->aggregates.push_back(std::move(aggregate));
  return grouping->known[identity] = result;
}

// Replaces what equals a group key by the key; the rest may then only use keys, aggregates and outer names.
ExprPtr StatementBinder::after_grouping(ExprPtr e, int location, const Scope& scope,
                                        const Grouping& grouping) {
  if (!grouping.active) return e;
  replace_nodes(&e, [&](const Expr& node) -> ExprPtr {
    auto found = grouping.keys.find(identity_of(node));
    return found == grouping.keys.end() ? nullptr : make_iu(found->second);
  });
  IuSet used = ius_of(*e);
  for (const Relation& relation : scope.relations) {
    for (const NamedColumn& column : relation.columns) {
      bool is_key = std::find(grouping.key_units.begin(), grouping.key_units.end(), column.iu) !=
                    grouping.key_units.end();
      if (used.contains(column.iu) && !is_key) {
        return fail(location, fmt::format("{} has to be in group by or inside an aggregate", column.name));
      }
    }
  }
  return e;
}

}  // namespace tailor::weft
