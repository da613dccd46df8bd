// Whether this program may touch a store at all.
#pragma once

#include <string>

#include "proto/base/result.h"

namespace tailor::store {

// ENOTSUP, naming the file and what to do, where a segment or a summary has a format version that this
// program does not know: retention must not delete what it cannot read. Opens every file, changes nothing.
// Whatever else is wrong with a file is no matter here.
Status check_store_versions(const std::string& directory);

}  // namespace tailor::store
