// The TPC-H tables as a catalog without data: what the statistics say at scale factor 1.
#pragma once

#include <memory>

#include "compiler/weft/catalog/catalog.h"

namespace tailor::weft {

std::unique_ptr<MemoryCatalog> tpch_catalog();

}  // namespace tailor::weft
