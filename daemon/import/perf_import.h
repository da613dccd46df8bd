// Turns a perf.data into what a recording of ours gives to its sink: the same pipeline, its records in place
// of our rings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/formats/perf_file.h"
#include "daemon/import/perf_import_options.h"
#include "daemon/profile/sink.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::importer {

struct PerfImported {
  formats::PerfDescription description;
  profile::Accounting total;
  std::uint64_t samples = 0;          // given to the sink
  std::uint64_t records_of_perf = 0;  // of the tool itself
  std::uint64_t jit_functions = 0;    // named by jitdumps and perf maps
  std::uint64_t layouts = 0;          // how often the pipeline was told of events
  std::size_t most_held_bytes = 0;    // of memory, by what waited for its order
  bool complete = true;               // nothing is missing at the end
  std::string damage;                 // what is missing or could not be read, and where; "" nothing
  std::vector<std::string> notes;     // for the user: what was found, and what could not be used
};

// Reads `file` from its beginning to its end, with bounded memory for what perf has not yet put into order
// (PerfFeed). Times are those of the recording's clock, or places in the file where its records have none.
// Processes have no start time unless the dictionary knows them. Of a file that was cut, or whose recorder
// was killed, it takes what is there and says what is missing. Fails for what is no perf.data, where its
// headers or its compression are damaged, for what no recorder writes (compressed records that grow without
// end, times that cannot be), and for a dictionary of another clock or host; records that make no sense are
// counted.
Result<PerfImported> import_perf_data(store::Input& file, profile::ProfileSink& sink,
                                      const PerfImportOptions& options);

}  // namespace tailor::importer
