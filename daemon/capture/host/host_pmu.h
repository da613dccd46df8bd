// Which performance monitoring hardware this host has.
#pragma once

#include "daemon/capture/select/pmu.h"
#include "daemon/os/os.h"

namespace tailor::capture {

// Reads it from /proc and /sys. A feature that cannot be read counts as not there.
HostPmu probe_pmu(const os::Os& os);

}  // namespace tailor::capture
