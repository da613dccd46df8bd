#include "compiler/weft/catalog/catalog.h"

namespace tailor::weft {

std::optional<std::uint32_t> TableInfo::column(std::string_view column_name) const {
  for (std::uint32_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == column_name) return i;
  }
  return {};
}

void MemoryCatalog::add(TableInfo table) {
  auto owned = std::make_unique<TableInfo>(std::move(table));
  for (auto& existing : tables_) {
    if (existing->name == owned->name) {
      existing = std::move(owned);
      return;
    }
  }
  tables_.push_back(std::move(owned));
}

const TableInfo* MemoryCatalog::find(std::string_view name) const {
  for (const auto& table : tables_) {
    if (table->name == name) return table.get();
  }
  return nullptr;
}

}  // namespace tailor::weft
