#include "compiler/weft/exec/columns.h"

#include <tailor/agent.h>

namespace tailor::weft {

void register_columns(const Database& database) {
  for (const std::unique_ptr<Table>& table : database.tables()) {
    for (const Column& column : table->columns) {
      std::string name = table->name + "." + column.name;
      tailor_region_kind kind{};
      kind.size = sizeof(kind);
      kind.name = name.c_str();
      kind.role = TAILOR_REGION_COLUMN;
      kind.element_bytes = static_cast<std::uint32_t>(element_size(column.storage));
      tailor_region_add(tailor_region_kind_declare(&kind), column.values, column.values_bytes);
      auto add_part = [&](const char* part, std::uint32_t element_bytes, const void* base,
                          std::uint64_t bytes) {
        std::string part_name = name + part;
        kind.name = part_name.c_str();
        kind.element_bytes = element_bytes;
        tailor_region_add(tailor_region_kind_declare(&kind), base, bytes);
      };
      if (column.heap_bytes != 0) add_part(" (texts)", 0, column.heap, column.heap_bytes);
      if (column.nulls != nullptr) add_part(" (nulls)", 1, column.nulls, table->rows);
    }
  }
}

}  // namespace tailor::weft
