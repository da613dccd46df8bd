// The clocks of this host. Code that can be tested with a played clock reads those of an Os.
#pragma once

#include <cstdint>

#include "proto/base/ids.h"

namespace tailor::os {

// The TSC, not reordered with what surrounds it. Any thread.
std::uint64_t read_tsc();

// CLOCK_MONOTONIC_RAW in ns. Any thread.
TimeNs read_raw_ns();

}  // namespace tailor::os
