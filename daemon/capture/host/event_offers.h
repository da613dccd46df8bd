// What this host can record, and why it cannot do the rest: the data of `tailor events`.
#pragma once

#include <string>
#include <vector>

#include "daemon/capture/select/event_selection.h"
#include "daemon/os/os.h"

namespace tailor::capture {

struct EventOffer {
  std::string name;  // as --event takes it
  std::string description;
  bool available = false;  // its events were opened, on ourselves, and closed again
  std::string detail;  // available: how it is taken, and what is given up; else: the blocker and the remedy
};

// Presets first, then the software events. Opens events on the calling thread only; counts nothing.
std::vector<EventOffer> probe_events(os::Os& os, const HostPmu& pmu);

}  // namespace tailor::capture
