// From a profile to tables for a database: a row a sample, and dictionaries beside it. docs/exports.md has
// their columns.
#pragma once

#include <cstdint>

#include "daemon/export/parquet_options.h"
#include "daemon/export/parquet_table.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::exporter {

// Writes all samples of the selection, by time, of every source or of the one that it names, and the
// dictionaries of the whole profile. `profile` must have been loaded with LoadOptions::keep_samples and
// LoadOptions::functions. Gives the number of samples. Beside the profile it takes the memory of one row
// group and 8 bytes a sample. Fails where there are no samples, and where a file cannot be written.
Result<std::uint64_t> export_parquet(const query::Profile& profile, const query::Selection& selection,
                                     const ParquetOptions& options, const OpenTable& open);

}  // namespace tailor::exporter
