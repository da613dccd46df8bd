#include "daemon/session/pebs_reopening.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "daemon/session/known_process.h"

namespace tailor::session {

// The kernel may stamp PEBS records otherwise than the trial found, or begin to: then every recording that
// relies on their own times goes on with an interrupt per sample.
void PebsReopening::watch() {
  const TimeNs now = os_.now();
  trust_.note_clock(now);
  const auto relies = [](const ProcessSampling& each) { return each.large_pebs && each.is_sampling(); };
  if (!std::ranges::any_of(sampled_.all(), relies)) return;
  const std::string doubt = trust_.doubt(pipeline_.pebs_times_doubted(), now);
  if (doubt.empty()) return;
  for (ProcessSampling& each : sampled_.all()) {
    if (!relies(each)) continue;
    each.reopen(now);
    on_problem_({each.process, "an interrupt per PEBS sample from now on: " + doubt});
    sampled_.close(each);
  }
}

bool PebsReopening::reopen(const ProcessSampling& before) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  const TimeNs pause = os_.now() - before.reopened();
  Status again =
      sampled_.open({before.process, comm_of(os_.proc(), before.process.pid)}, options, before.origin,
                    fmt::format("earlier PEBS samples may be stamped late, by as much as the "
                                "buffer held; then {} ms without samples",
                                pause / 1'000'000));
  if (again.ok()) return true;
  if (again.error().code == ESRCH) return false;
  sampled_.states().set_why_not(before.process, again.error().message);
  on_problem_({before.process, again.error().message});
  return true;
}

}  // namespace tailor::session
