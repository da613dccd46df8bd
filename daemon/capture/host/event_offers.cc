#include "daemon/capture/host/event_offers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "daemon/capture/host/event_probe.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kProbeRate = 1000;

constexpr std::array kSoftwareEvents = {
    Preset{"cpu-clock", "time on CPU by the kernel's timer"},
    Preset{"page-faults", "page faults with data address"},
    Preset{"context-switches", "switches away from the CPU, counted"},
    Preset{"ibs_op", "AMD's sampling of operations, with data address"},
};

EventOffer probe(os::Os& os, const HostPmu& pmu, const Preset& preset) {
  EventOffer offer{std::string(preset.name), std::string(preset.description), false, ""};
  std::vector<std::string> names = {offer.name};
  auto selection = select_events(names, kProbeRate, pmu);
  if (!selection) {
    offer.detail = selection.error().message;
    return offer;
  }
  auto given_up = open_on_ourselves(os, selection->events);
  offer.available = given_up.ok();
  if (!given_up) {
    offer.detail = given_up.error().message;
    return offer;
  }
  if (!given_up->empty()) selection->reasons.push_back(*given_up);
  offer.detail = fmt::format("{}", fmt::join(selection->reasons, "; "));
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
