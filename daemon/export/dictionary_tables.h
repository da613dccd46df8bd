// The tables that rows of samples refer to.
#pragma once

#include <cstdint>

#include "daemon/export/parquet_options.h"
#include "daemon/export/parquet_table.h"
#include "daemon/query/load/profile.h"
#include "proto/base/result.h"

namespace tailor::exporter {

// Recording, sources, processes, threads, executions, labels, plans and components. `samples` are in the
// table of samples.
Status write_dictionaries(const query::Profile& profile, std::uint64_t samples, const ParquetOptions& options,
                          const OpenTable& open);

}  // namespace tailor::exporter
