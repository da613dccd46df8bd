// Where this kernel has the functions that name waits.
#pragma once

#include <vector>

#include "daemon/capture/decode/kernel_symbols.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// wait_functions() of this host, read once: these functions do not move while the kernel runs. Any thread. An
// error, with the remedy, where the kernel hides its addresses.
Result<std::vector<KernelFunction>> wait_functions(const os::Os& os);

}  // namespace tailor::capture
