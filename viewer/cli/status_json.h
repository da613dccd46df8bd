// What `tailor status --json` prints.
#pragma once

#include <string>

#include "proto/base/result.h"
#include "tailor/v1/control.pb.h"

namespace tailor::cli {

// With all fields, also those that are zero; ends without a new line.
Result<std::string> status_json(const v1::DaemonStatus& status);

}  // namespace tailor::cli
