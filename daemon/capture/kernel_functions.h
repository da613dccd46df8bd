// Where this kernel has the functions that name waits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

struct KernelFunction {
  std::uint64_t address = 0;
  std::uint32_t size = 0;
  std::string name;
};

// The functions that wait_in() knows, from the text of /proc/kallsyms. Sizes are not told there: a function
// ends where the next symbol begins.
std::vector<KernelFunction> wait_functions(std::string_view kallsyms);

// The same on this host, read once: these functions do not move while the kernel runs. Any thread. An error,
// with the remedy, where the kernel hides its addresses.
Result<std::vector<KernelFunction>> wait_functions(const os::Os& os);

}  // namespace tailor::capture
