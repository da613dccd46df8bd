// The eight tables of TPC-H (specification 2.18, clause 1.4).
#pragma once

#include <span>

#include "compiler/weft/storage/table_file.h"

namespace tailor::weft {

std::span<const TableDefinition> tpch_tables();

}  // namespace tailor::weft
