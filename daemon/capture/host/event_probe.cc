#include "daemon/capture/host/event_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "daemon/capture/host/denial.h"

namespace tailor::capture {

Result<std::string> open_on_ourselves(os::Os& os, std::span<const EventSpec> events) {
  std::string given_up;
  for (const EventSpec& spec : events) {
    perf_event_attr attr = make_attr(spec, false, CaptureOptions{}, true);
    attr.disabled = 1;
    auto fd = os.perf_event_open(attr, 0, -1, -1, 0);
    if (!fd && !attr.exclude_kernel && (fd.error().code == EACCES || fd.error().code == EPERM)) {
      given_up = "without samples in kernel mode: " + explain_open(os, fd.error(), attr, 0).message;
      attr.exclude_kernel = 1;
      fd = os.perf_event_open(attr, 0, -1, -1, 0);
    }
    if (!fd) return explain_open(os, fd.error(), attr, 0);
  }
  return given_up;
}

Result<Selection> select_usable_events(os::Os& os, std::vector<std::string> names, std::uint64_t hz,
                                       const HostPmu& pmu) {
  std::string reason;
  if (std::ranges::find(names, "auto") != names.end()) {
    const std::vector<std::string> best = {"auto"};
    auto selection = select_events(best, hz, pmu);
    if (!selection) return selection.error();
    auto opened = open_on_ourselves(os, selection->events);
    // Where the timer is the best there is, whoever opens it tells what is wrong.
    if (!opened && selection->events.front().mechanism != Mechanism::kTimer) {
      std::ranges::replace(names, "auto", "cpu-clock");
      reason = fmt::format("cpu-clock, because {} is not to be had: {}", selection->events.front().name,
                           opened.error().message);
    }
  }
  auto selection = select_events(names, hz, pmu);
  if (selection.ok() && !reason.empty()) selection->reasons.push_back(std::move(reason));
  return selection;
}

}  // namespace tailor::capture
