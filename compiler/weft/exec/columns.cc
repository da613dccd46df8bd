#include "compiler/weft/exec/columns.h"

#include <tailor/agent.h>

namespace tailor::weft {

void RegisterColumns(const Database& database) {
  for (const std::unique_ptr<Table>& table : database.tables()) {
    for (const Column& column : table->columns) {
      std::string name = table->name + "." + column.name;
      tailor_region_kind kind{};
      kind.name = name.c_str();
      kind.role = TAILOR_REGION_COLUMN;
      kind.element_bytes = static_cast<std::uint32_t>(ElementSize(column.storage));
      tailor_region_add(tailor_region_kind_declare(&kind), column.values, column.values_bytes);
      if (column.heap_bytes == 0) continue;
      name += " (texts)";
      kind.name = name.c_str();
      kind.element_bytes = 0;
      tailor_region_add(tailor_region_kind_declare(&kind), column.heap, column.heap_bytes);
    }
  }
}

}  // namespace tailor::weft
