// The functions of a file by what somebody else has of it.
#pragma once

#include <string>
#include <vector>

#include "daemon/query/symbols/debug_finder.h"
#include "daemon/query/symbols/function_names.h"
#include "proto/base/result.h"

namespace tailor::query {

// Those of the file at `path` with the symbols of the debug file that `finder` has for the recorded build id.
// `is_here`: the file that was recorded is at `path`; else `finder` must have it too, because it says where
// its code is. A file with another build id counts for nothing. Fails with the reason.
Result<FunctionNames> fetch_names(DebugFinder& finder, const std::string& path, const RecordedFile& recorded,
                                  bool is_here, const std::vector<std::string>& setters);

}  // namespace tailor::query
