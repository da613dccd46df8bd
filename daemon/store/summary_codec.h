// A summary <-> the bytes of its file (docs/profile-format.md, "Summaries").
#pragma once

#include <string>

#include "daemon/store/file_io.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"

namespace tailor::store {

// The whole file: header, one SUMMARY block, END. The same summary gives the same bytes. Fails for one that
// is larger than a block may be.
Result<std::string> encode(const Summary& summary);

// Takes any bytes. A file that is cut, damaged or breaks a rule is an error as a whole: a part of the sums
// would be wrong sums.
Result<Summary> decode_summary(Input& input);

}  // namespace tailor::store
