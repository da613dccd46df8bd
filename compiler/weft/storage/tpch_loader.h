// TPC-H tables from the generator `tpchgen-cli` into table files.
#pragma once

#include <functional>
#include <string>

#include "proto/base/result.h"

namespace tailor::weft {

struct LoadProgress {
  std::string table;  // being worked on
  double share = 0;   // of the whole work, 0 to 1
};

struct TpchLoadOptions {
  double scale_factor = 1;
  std::string directory;  // where the table files go; made if needed
  unsigned threads = 1;
  std::function<void(const LoadProgress&)> progress;  // may be empty; called from any thread, one at a time
};

// $XDG_CACHE_HOME/weft, or ~/.cache/weft.
std::string default_data_directory();
// Where the tables of a scale factor lie below a data directory: "tpch-sf0.1".
std::string tpch_directory(const std::string& data_directory, double scale_factor);

// The generator: $WEFT_TPCHGEN, else `tpchgen-cli` in PATH, else in the virtual environment of the source
// tree this program was built from. Error: none found, with what to do.
Result<std::string> find_tpch_generator();

// Generates what is missing; tables whose files can be opened are left alone. The generator's text lies in a
// temporary folder beside the table files, one table (or a piece of a large one) at a time.
Status load_tpch(const TpchLoadOptions& options);

}  // namespace tailor::weft
