#include "daemon/config/sampling_options.h"

#include "daemon/capture/host/event_probe.h"
#include "daemon/capture/host/host_pmu.h"

namespace tailor::config {

Result<capture::CaptureOptions> capture_options(os::Os& os, const SamplingOptions& options) {
  auto selection =
      capture::select_usable_events(os, options.events, options.frequency, capture::probe_pmu(os));
  if (!selection.ok()) return selection.error();
  if (options.callchain || options.stacks == capture::Stacks::kAlways) capture::prefer_stacks(*selection);
  capture::CaptureOptions capture;
  capture.events = std::move(selection->events);
  capture.context_switches = selection->context_switches;
  capture.reasons = std::move(selection->reasons);
  capture.callchain = options.callchain;
  capture.all_registers = options.memory;
  capture.sampled_by = options.sampled_by;
  capture.stacks = options.stacks;
  capture.placement = options.placement;
  capture.aggregate = options.aggregate;
  capture.drawn_ppm = options.sampled_executions == 1'000'000 ? 0 : options.sampled_executions;
  return capture;
}

}  // namespace tailor::config
