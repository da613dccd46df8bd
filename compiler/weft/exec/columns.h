// Tells the profiler where the columns of a database lie.
#pragma once

#include "compiler/weft/storage/database.h"

namespace tailor::weft {

// For as long as the process lives: `database` is not closed while the agent runs.
void register_columns(const Database& database);

}  // namespace tailor::weft
