#include "daemon/export/parquet_tables.h"

#include "daemon/export/dictionary_tables.h"
#include "daemon/export/sample_table.h"

namespace tailor::exporter {

Result<std::uint64_t> export_parquet(const query::Profile& profile, const query::Selection& selection,
                                     const ParquetOptions& options, const OpenTable& open) {
  auto samples = write_samples(profile, selection, options, open);
  if (!samples) return samples;
  if (Status done = write_dictionaries(profile, *samples, options, open); !done) return done.error();
  return samples;
}

}  // namespace tailor::exporter
