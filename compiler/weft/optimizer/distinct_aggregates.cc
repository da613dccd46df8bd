#include "compiler/weft/optimizer/distinct_aggregates.h"

#include <algorithm>

#include "compiler/weft/plan/make.h"

namespace tailor::weft {
namespace {

bool is_count(AggregateFunction f) {
  return f == AggregateFunction::kCount || f == AggregateFunction::kCountRows;
}

// The outer aggregate that combines partial results of a non-distinct one.
LogicalAggregate combine(const LogicalAggregate& whole, const Iu* partial) {
  AggregateFunction function = is_count(whole.function) ? AggregateFunction::kSum : whole.function;
  return {function, make_iu(partial), whole.result, false};
}

void split(LogicalPtr* node, IuPool* ius) {
  Logical& outer = **node;
  const Iu* unit = nullptr;
  auto inner = std::make_unique<Logical>(LogicalKind::kGroup);
  inner->keys = outer.keys;
  std::vector<Map::Computation> argument, zeros;
  std::vector<LogicalAggregate> aggregates;
  for (auto& a : outer.aggregates) {
    if (!a.distinct) {
      Iu* partial = ius->make(a.result->name, a.result->type, a.result->range);
      LogicalAggregate combined = combine(a, partial);
      if (is_count(a.function) && outer.keys.empty()) {
        // The sum of no counts is null, the count of no rows is 0.
        Iu* sum = ius->make(a.result->name, a.result->type.with_null(true), a.result->range);
        std::vector<ExprPtr> parts;
        parts.push_back(make_is_null(make_iu(sum)));
        parts.push_back(make_constant(Value::int64(0)));
        parts.push_back(make_iu(sum));
        zeros.push_back({a.result, std::make_unique<CaseExpr>(std::move(parts))});
        combined.result = sum;
      }
      inner->aggregates.push_back({a.function, std::move(a.argument), partial, false});
      aggregates.push_back(std::move(combined));
      continue;
    }
    if (unit == nullptr) {
      if (a.argument->kind() == ExprKind::kIu) {
        unit = as<IuExpr>(*a.argument).iu;
      } else {
        unit = ius->make("distinct", a.argument->type, a.argument->range);
        argument.push_back({unit, std::move(a.argument)});
      }
      if (std::find(inner->keys.begin(), inner->keys.end(), unit) == inner->keys.end())
        inner->keys.push_back(unit);
    }
    aggregates.push_back({a.function, make_iu(unit), a.result, false});
  }
  inner->inputs.push_back(make_map(std::move(outer.inputs[0]), std::move(argument)));
  outer.inputs[0] = std::move(inner);
  outer.aggregates = std::move(aggregates);
  *node = make_map(std::move(*node), std::move(zeros));
}

}  // namespace

void split_distinct(LogicalPtr* root, IuPool* ius) {
  for (auto& input : (*root)->inputs) split_distinct(&input, ius);
  const auto& aggregates = (*root)->aggregates;
  bool any = std::any_of(aggregates.begin(), aggregates.end(), [](const auto& a) { return a.distinct; });
  if (any) split(root, ius);
}

}  // namespace tailor::weft
