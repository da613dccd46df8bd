// The table of samples, and those of their owners and call chains.
#pragma once

#include <cstdint>

#include "daemon/export/parquet_options.h"
#include "daemon/export/parquet_table.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::exporter {

// Tables "samples", "owners" and "stacks". Gives the number of samples; fails where there are none.
Result<std::uint64_t> write_samples(const query::Profile& profile, const query::Selection& selection,
                                    const ParquetOptions& options, const OpenTable& open);

}  // namespace tailor::exporter
