#include "compiler/weft/plan/logical.h"

#include <fmt/format.h>

#include <iterator>

#include "compiler/weft/plan/print.h"

namespace tailor::weft {
namespace {

void collect_own(const Logical& node, IuSet* ius) {
  collect_ius(node.conjuncts, ius);
  for (const auto& c : node.computations) collect_ius(*c.expr, ius);
  for (const auto& a : node.aggregates) {
    if (a.argument) collect_ius(*a.argument, ius);
  }
  ius->insert(node.keys.begin(), node.keys.end());
  for (const auto& key : node.order) ius->insert(key.iu);
}

void collect_used_and_made(const Logical& node, IuSet* used, IuSet* made) {
  collect_own(node, used);
  for (const auto& column : node.columns) made->insert(column.iu);
  for (const auto& c : node.computations) made->insert(c.iu);
  for (const auto& a : node.aggregates) made->insert(a.result);
  if (node.mark != nullptr) made->insert(node.mark);
  for (const auto& input : node.inputs) collect_used_and_made(*input, used, made);
}

const Iu* mapped(const Iu* iu, const IuMapping& mapping) {
  auto found = mapping.find(iu);
  return found == mapping.end() ? iu : found->second;
}

const Iu* renew(const Iu* iu, IuPool* pool, IuMapping* mapping) {
  Iu* copy = pool->make(iu->name, iu->type, iu->range);
  copy->distinct = iu->distinct;
  (*mapping)[iu] = copy;
  return copy;
}

ExprPtr renamed(const Expr& expr, const IuMapping& mapping) {
  ExprPtr copy = expr.clone();
  replace_ius(&copy, mapping);
  return copy;
}

}  // namespace

LogicalPtr make_select(LogicalPtr input, std::vector<ExprPtr> conjuncts) {
  if (conjuncts.empty()) return input;
  auto node = std::make_unique<Logical>(LogicalKind::kSelect);
  node->conjuncts = std::move(conjuncts);
  node->inputs.push_back(std::move(input));
  return node;
}

LogicalPtr make_map(LogicalPtr input, std::vector<Map::Computation> computations) {
  if (computations.empty()) return input;
  if (input->kind == LogicalKind::kMap) {
    std::move(computations.begin(), computations.end(), std::back_inserter(input->computations));
    return input;
  }
  auto node = std::make_unique<Logical>(LogicalKind::kMap);
  node->computations = std::move(computations);
  node->inputs.push_back(std::move(input));
  return node;
}

LogicalPtr make_join(JoinKind kind, LogicalPtr left, LogicalPtr right, std::vector<ExprPtr> condition) {
  auto node = std::make_unique<Logical>(LogicalKind::kJoin);
  node->join = kind;
  node->conjuncts = std::move(condition);
  node->inputs.push_back(std::move(left));
  node->inputs.push_back(std::move(right));
  return node;
}

IuSet available(const Logical& node) {
  IuSet ius;
  switch (node.kind) {
    case LogicalKind::kGet:
      for (const auto& column : node.columns) ius.insert(column.iu);
      break;
    case LogicalKind::kSelect:
    case LogicalKind::kSort:
      return available(node.input());
    case LogicalKind::kMap:
      ius = available(node.input());
      for (const auto& c : node.computations) ius.insert(c.iu);
      break;
    case LogicalKind::kJoin: {
      ius = available(*node.inputs[0]);
      if (node.join == JoinKind::kMark) ius.insert(node.mark);
      if (node.join == JoinKind::kSemi || node.join == JoinKind::kAnti || node.join == JoinKind::kMark) break;
      ius.merge(available(*node.inputs[1]));
      break;
    }
    case LogicalKind::kGroup:
      ius.insert(node.keys.begin(), node.keys.end());
      for (const auto& a : node.aggregates) ius.insert(a.result);
      break;
  }
  return ius;
}

IuSet free_units(const Logical& node) {
  IuSet used, made;
  collect_used_and_made(node, &used, &made);
  for (const Iu* iu : made) used.erase(iu);
  return used;
}

void for_each_expr(Logical& node, const std::function<void(ExprPtr&)>& visit) {
  for (ExprPtr& e : node.conjuncts) visit(e);
  for (auto& c : node.computations) visit(c.expr);
  for (auto& a : node.aggregates) {
    if (a.argument) visit(a.argument);
  }
}

LogicalPtr clone_renamed(const Logical& node, IuPool* pool, IuMapping* mapping) {
  auto copy = std::make_unique<Logical>(node.kind);
  for (const auto& input : node.inputs) copy->inputs.push_back(clone_renamed(*input, pool, mapping));
  copy->table = node.table;
  copy->alias = node.alias;
  copy->join = node.join;
  copy->limit = node.limit;
  copy->build_left = node.build_left;
  for (const auto& column : node.columns)
    copy->columns.push_back({column.index, renew(column.iu, pool, mapping)});
  for (const ExprPtr& e : node.conjuncts) copy->conjuncts.push_back(renamed(*e, *mapping));
  for (const auto& c : node.computations) {
    ExprPtr expr = renamed(*c.expr, *mapping);
    copy->computations.push_back({renew(c.iu, pool, mapping), std::move(expr)});
  }
  for (const Iu* key : node.keys) copy->keys.push_back(mapped(key, *mapping));
  for (const auto& a : node.aggregates) {
    ExprPtr argument = a.argument ? renamed(*a.argument, *mapping) : nullptr;
    copy->aggregates.push_back({a.function, std::move(argument), renew(a.result, pool, mapping), a.distinct});
  }
  for (Sort::Key key : node.order) {
    key.iu = mapped(key.iu, *mapping);
    copy->order.push_back(key);
  }
  if (node.mark != nullptr) copy->mark = renew(node.mark, pool, mapping);
  return copy;
}

std::string to_string(const Logical& node) {
  std::string text;
  switch (node.kind) {
    case LogicalKind::kGet:
      text = "get " + node.table->name;
      break;
    case LogicalKind::kSelect:
      text = fmt::format("select({})", to_string(node.conjuncts));
      break;
    case LogicalKind::kMap:
      text = "map";
      break;
    case LogicalKind::kJoin:
      text = fmt::format("join({}; {})", join_name(node.join), to_string(node.conjuncts));
      break;
    case LogicalKind::kGroup:
      text = "group";
      break;
    case LogicalKind::kSort:
      text = node.limit ? "top" : "sort";
      break;
  }
  std::string inputs;
  for (const auto& input : node.inputs) inputs += (inputs.empty() ? "" : ", ") + to_string(*input);
  return inputs.empty() ? text : text + "[" + inputs + "]";
}

}  // namespace tailor::weft
