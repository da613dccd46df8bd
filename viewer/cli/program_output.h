// What another program of the host prints.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "proto/base/result.h"

namespace tailor::cli {

// Runs argv[0] of PATH and waits for it. Gives the last `max_bytes` of its standard output; what it says on
// standard error is dropped. Fails where it cannot be started or ends with another code than 0.
Result<std::string> program_output(const std::vector<std::string>& argv, std::size_t max_bytes);

}  // namespace tailor::cli
