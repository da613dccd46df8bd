// The time parameters of a perf mmap page, read from an event of our own that counts nothing.
#pragma once

#include <linux/perf_event.h>

#include <optional>

#include "daemon/clock/observation.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::clock {

// One thread at a time.
class PerfPage {
 public:
  // Error where perf_event_open is denied to us. `os` must outlive the page.
  static Result<PerfPage> open(os::Os& os);

  // Nothing where the kernel's sched_clock is not the TSC (virtual machines with kvm-clock, TSC unstable).
  // The kernel writes the page anew at each call: its parameters change when the TSC's rate is refined.
  std::optional<PerfPageTime> read();

 private:
  PerfPage(os::Os& os, UniqueFd event, os::Mapping page)
      : os_(&os), event_(std::move(event)), page_(std::move(page)) {}

  os::Os* os_;
  UniqueFd event_;
  os::Mapping page_;
};

// The same from a page that lies anywhere, e.g. in a test. Nothing if it stays locked.
std::optional<PerfPageTime> read_perf_page(const volatile perf_event_mmap_page& page);

}  // namespace tailor::clock
