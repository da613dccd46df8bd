// Reads from the host what the clock model wants to know.
#pragma once

#include <tailor/clock_page.h>

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/clock/module_page.h"
#include "daemon/clock/observation.h"
#include "daemon/clock/perf_page.h"
#include "daemon/os/os.h"

namespace tailor::clock {

// The narrowest of `tries` pairs; about 60 ns each. Any thread.
Pair read_pair(os::Os& os, int tries);

// One thread at a time. `os` must outlive it.
class HostClock {
 public:
  explicit HostClock(os::Os& os, std::string device = TAILOR_CLOCK_DEVICE);

  // One observation; some microseconds. The module and perf are asked for again each time they are missing,
  // so a module that is loaded later is found.
  Observation observe();

  // Why the module's page and the perf page do not serve; empty where they do (at the last observation).
  const std::string& module_denial() const { return module_denial_; }
  const std::string& perf_denial() const { return perf_denial_; }

 private:
  bool tsc_is_clocksource() const;
  std::optional<ModuleTime> read_module();
  std::optional<PerfPageTime> read_perf();

  os::Os& os_;
  std::string device_;
  std::optional<ModulePage> module_;
  std::optional<PerfPage> perf_;
  std::string module_denial_, perf_denial_;
};

}  // namespace tailor::clock
