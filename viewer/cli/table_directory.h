// The tables of an export as files in a directory.
#pragma once

#include <string>

#include "daemon/export/parquet_table.h"
#include "proto/base/result.h"

namespace tailor::cli {

// Makes the directory where it is missing (its parent must be there); "samples" becomes samples.parquet in
// it. Files of these names are replaced, all others stay.
Result<exporter::OpenTable> open_table_directory(const std::string& path);

}  // namespace tailor::cli
