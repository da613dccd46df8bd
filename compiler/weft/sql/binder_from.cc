#include <fmt/format.h>

#include "compiler/weft/sql/statement_binder.h"

namespace tailor::weft {

const ast::CommonTable* StatementBinder::common_table(const std::string& name) const {
  for (auto it = common_tables_.rbegin(); it != common_tables_.rend(); ++it) {
    if ((*it)->name == name) return *it;
  }
  return nullptr;
}

LogicalPtr StatementBinder::from(const ast::Select& select, Scope* scope) {
  LogicalPtr plan;
  for (const ast::Table& item : select.from) {
    LogicalPtr next = table(item, scope);
    plan = plan ? make_join(JoinKind::kInner, std::move(plan), std::move(next), {}) : std::move(next);
  }
  return plan;
}

LogicalPtr StatementBinder::table(const ast::Table& item, Scope* scope) {
  if (item.kind == ast::TableKind::kJoin) return join(item, scope);
  Relation relation;
  relation.alias = item.alias.empty() ? item.name : item.alias;
  LogicalPtr plan;
  if (item.kind == ast::TableKind::kSubquery) {
    Bound bound = select(*item.subquery, nullptr);
    relation.columns = std::move(bound.columns);
    plan = std::move(bound.root);
  } else {
    plan = named_table(item, &relation, scope->parent);
  }
  if (item.column_aliases.size() > relation.columns.size()) {
    fail(item.location, fmt::format("{} has only {} columns", relation.alias, relation.columns.size()));
    return plan;
  }
  for (std::size_t i = 0; i < item.column_aliases.size(); ++i)
    relation.columns[i].name = item.column_aliases[i];
  for (const Relation& other : scope->relations) {
    if (!relation.alias.empty() && other.alias == relation.alias) {
      fail(item.location, fmt::format("the name {} is used twice in from", relation.alias));
    }
  }
  scope->relations.push_back(std::move(relation));
  return plan;
}

LogicalPtr StatementBinder::named_table(const ast::Table& item, Relation* relation, const Scope* parent) {
  if (const ast::CommonTable* common = common_table(item.name)) {
    // Bound anew at each use; it may not see itself.
    std::vector<const ast::CommonTable*> hidden;
    while (common_tables_.back() != common) {
      hidden.push_back(common_tables_.back());
      common_tables_.pop_back();
    }
    common_tables_.pop_back();
    Bound bound = select(*common->query, parent);
    common_tables_.push_back(common);
    common_tables_.insert(common_tables_.end(), hidden.rbegin(), hidden.rend());
    relation->columns = std::move(bound.columns);
    for (std::size_t i = 0; i < std::min(common->column_aliases.size(), relation->columns.size()); ++i) {
      relation->columns[i].name = common->column_aliases[i];
    }
    return std::move(bound.root);
  }
  auto get = std::make_unique<Logical>(LogicalKind::kGet);
  static const TableInfo kEmptyTable;
  get->table = catalog_.find(item.name);
  if (get->table == nullptr) {
    fail(item.location, fmt::format("there is no table {}", item.name));
    get->table = &kEmptyTable;
  }
  if (!item.alias.empty() && item.alias != item.name) get->alias = item.alias;
  for (std::uint32_t i = 0; i < get->table->columns.size(); ++i) {
    const ColumnInfo& info = get->table->columns[i];
    Iu* iu = ius_.make(info.name, info.type, info.range);
    iu->distinct = info.distinct;
    get->columns.push_back({i, iu});
    relation->columns.push_back({info.name, iu});
  }
  return get;
}

LogicalPtr StatementBinder::join(const ast::Table& item, Scope* scope) {
  LogicalPtr left = table(*item.left, scope);
  LogicalPtr right = table(*item.right, scope);
  JoinKind kind = JoinKind::kInner;
  if (item.join != ast::JoinKind::kInner) {
    kind = JoinKind::kOuter;
    if (item.join == ast::JoinKind::kRight) std::swap(left, right);
  }
  std::vector<ExprPtr> conjuncts;
  if (item.condition) {
    ExprPtr condition = expr(*item.condition, {.scope = scope});
    if (condition->type.id != TypeId::kBool)
      fail(item.condition->location, "the condition of a join has to be bool");
    split_conjuncts(std::move(condition), &conjuncts);
  }
  if (kind == JoinKind::kOuter) make_nullable(*right);
  return make_join(kind, std::move(left), std::move(right), std::move(conjuncts));
}

}  // namespace tailor::weft
