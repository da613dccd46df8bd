#include "daemon/session/pebs_trust.h"

#include "daemon/session/pebs_probe.h"

namespace tailor::session {
namespace {

// A look at the perf page can fail; the kernel means it if it goes on.
constexpr TimeNs kClockPatience = 3'000'000'000;

}  // namespace

std::string PebsTrust::settle(capture::CaptureOptions& options, TimeNs now) {
  note_clock(now);
  return settle_large_pebs(options, convertible(), [this, now] { return times_.verdict(now); });
}

std::string PebsTrust::doubt(bool recorded_late, TimeNs now) {
  if (recorded_late) {
    times_.convict();
    return "the recorded times are those of the buffer's drain";
  }
  if (now - clock_known_ > kClockPatience) return "perf's own clock can no longer be converted";
  const auto& verdict = times_.verdict(now);
  if (verdict.ok() && *verdict == clock::RecordTimes::kDrain) {
    return "a new trial got the time of the buffer's drain";
  }
  return {};
}

}  // namespace tailor::session
