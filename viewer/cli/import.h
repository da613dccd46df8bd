// Profiles that other tools wrote.
#pragma once

#include <string>

#include "daemon/query/load/profile.h"
#include "proto/base/result.h"

namespace tailor::cli {

// A .tailor file, or a perf.data as if it had been imported.
Result<query::Profile> load_any_file(const std::string& path, const query::LoadOptions& options);

}  // namespace tailor::cli
