// Tells the profiler where the columns of a database lie.
#pragma once

#include "compiler/weft/storage/database.h"

namespace tailor::weft {

// For as long as the process lives: `database` is not closed while the agent runs.
void RegisterColumns(const Database& database);

}  // namespace tailor::weft
