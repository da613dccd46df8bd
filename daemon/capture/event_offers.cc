#include "daemon/capture/event_offers.h"

#include <cerrno>

#include "daemon/capture/denial.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kProbeRate = 1000;

constexpr std::array kSoftwareEvents = {
    Preset{"cpu-clock", "time on CPU by the kernel's timer"},
    Preset{"page-faults", "page faults with data address"},
    Preset{"context-switches", "switches away from the CPU, counted"},
    Preset{"ibs_op", "AMD's sampling of operations, with data address"},
};

void join(std::string& to, const std::string& part) {
  to += (to.empty() ? "" : "; ") + part;
}

// Opens what a recording of our own thread would; empty if all could be opened, perhaps in user mode only.
Status open_all(os::Os& os, const Selection& selection, std::string& given_up) {
  CaptureOptions options;
  options.events = selection.events;
  for (const EventSpec& spec : selection.events) {
    perf_event_attr attr = make_attr(spec, false, options, true);
    attr.disabled = 1;
    auto fd = os.perf_event_open(attr, 0, -1, -1, 0);
    if (!fd && !attr.exclude_kernel && (fd.error().code == EACCES || fd.error().code == EPERM)) {
      std::string why = explain_open(os, fd.error(), attr, 0).message;
      attr.exclude_kernel = 1;
      fd = os.perf_event_open(attr, 0, -1, -1, 0);
      if (fd) join(given_up, "without samples in kernel mode: " + why);
    }
    if (!fd) return explain_open(os, fd.error(), attr, 0);
  }
  return Ok{};
}

EventOffer probe(os::Os& os, const HostPmu& pmu, const Preset& preset) {
  EventOffer offer{std::string(preset.name), std::string(preset.description), false, ""};
  std::vector<std::string> names = {offer.name};
  auto selection = select_events(names, kProbeRate, pmu);
  if (!selection) {
    offer.detail = selection.error().message;
    return offer;
  }
  std::string given_up;
  auto opened = open_all(os, *selection, given_up);
  offer.available = opened.ok();
  if (!opened) {
    offer.detail = opened.error().message;
    return offer;
  }
  for (const std::string& reason : selection->reasons) join(offer.detail, reason);
  if (!given_up.empty()) join(offer.detail, given_up);
  return offer;
}

}  // namespace

std::vector<EventOffer> probe_events(os::Os& os, const HostPmu& pmu) {
  std::vector<EventOffer> offers;
  for (const Preset& preset : kPresets) offers.push_back(probe(os, pmu, preset));
  for (const Preset& event : kSoftwareEvents) offers.push_back(probe(os, pmu, event));
  return offers;
}

}  // namespace tailor::capture
