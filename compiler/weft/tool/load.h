// Tables for a command: opened, and first generated where they are missing.
#pragma once

#include <memory>

#include "compiler/weft/storage/database.h"
#include "compiler/weft/tool/command_line.h"

namespace tailor::weft {

// Shows a progress bar on a terminal while it generates.
Result<std::unique_ptr<Database>> open_tables(const CommandLine& command);

}  // namespace tailor::weft
