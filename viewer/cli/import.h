// Profiles that other tools wrote.
#pragma once

#include <functional>
#include <string>

#include "daemon/query/load/profile.h"
#include "proto/base/result.h"

namespace tailor::cli {

// A .tailor file, or a perf.data as if it had been imported. `tell` hears what an import has to say of it,
// but for what the profile itself says (query::damage_text).
Result<query::Profile> load_any_file(const std::string& path, const query::LoadOptions& options,
                                     const std::function<void(const std::string&)>& tell);

}  // namespace tailor::cli
