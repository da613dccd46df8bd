#include "daemon/capture/host/event_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/capture/host/denial.h"
#include "daemon/capture/host/older_kernels.h"
#include "daemon/os/host_files.h"

namespace tailor::capture {

namespace {

// On the calling thread; IBS also on a CPU, because before 6.2 the kernel has it nowhere else.
Result<UniqueFd> try_open(os::Os& os, const EventSpec& spec, perf_event_attr attr) {
  UniqueFd leader;
  if (spec.auxiliary != 0) {
    perf_event_attr of_group = leader_of(attr, spec.auxiliary);
    auto opened = os.perf_event_open(of_group, 0, -1, -1, 0);
    if (!opened) return opened;
    leader = std::move(*opened);
  }
  auto fd = os.perf_event_open(attr, 0, -1, leader ? leader.get() : -1, 0);
  if (fd || fd.error().code != EINVAL || spec.mechanism != Mechanism::kIbs) return fd;
  auto cpus = os::online_cpus(os);
  if (!cpus) return fd;
  attr.inherit = attr.inherit_thread = 0;
  return os.perf_event_open(attr, -1, cpus->front(), -1, 0);
}

// As try_open(), without what an older kernel does not know.
Result<UniqueFd> try_open_as_old(os::Os& os, const EventSpec& spec, perf_event_attr& attr) {
  auto fd = try_open(os, spec, attr);
  while (!fd && fd.error().code == EINVAL && !give_up_newest(attr).empty()) fd = try_open(os, spec, attr);
  return fd;
}

}  // namespace

Result<std::string> open_on_ourselves(os::Os& os, std::span<const EventSpec> events) {
  std::string given_up;
  for (const EventSpec& spec : events) {
    perf_event_attr attr = make_attr(spec, false, CaptureOptions{}, true);
    attr.disabled = 1;
    auto fd = try_open_as_old(os, spec, attr);
    if (!fd && !attr.exclude_kernel && (fd.error().code == EACCES || fd.error().code == EPERM)) {
      given_up = "without samples in kernel mode: " + explain_open(os, fd.error(), attr, 0).message;
      attr.exclude_kernel = 1;
      fd = try_open_as_old(os, spec, attr);
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
    // Where the timer is the best there is, its opener tells what is wrong.
    if (!opened && selection->events.front().mechanism != Mechanism::kTimer) {
      std::ranges::replace(names, "auto", "cpu-clock");
      reason = fmt::format("cpu-clock, because {} cannot be opened: {}", selection->events.front().name,
                           opened.error().message);
    }
  }
  auto selection = select_events(names, hz, pmu);
  if (selection.ok() && !reason.empty()) selection->reasons.push_back(std::move(reason));
  return selection;
}

}  // namespace tailor::capture
