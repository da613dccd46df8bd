#include "daemon/session/redraw.h"

#include <algorithm>

#include "daemon/capture/select/jitter.h"

namespace tailor::session {
namespace {

constexpr TimeNs kLeastApart = 10'000'000'000;
constexpr TimeNs kPeriodsApart = 2000;

TimeNs apart(const capture::EventSpec& event) {
  constexpr std::uint64_t kLongestPeriod = 1'000'000'000'000;
  if (event.unit != profile::Unit::kNsOnCpu) return kLeastApart;
  return std::max(kLeastApart, kPeriodsApart * static_cast<TimeNs>(std::min(event.period, kLongestPeriod)));
}

}  // namespace

TimeNs next_redraw(const capture::CaptureOptions& options, TimeNs now) {
  TimeNs after = 0;
  for (const capture::EventSpec& event : options.events) {
    if (capture::is_jittered(event)) after = std::max(after, apart(event));
  }
  return options.jitter && after > 0 ? now + after : kTimeMax;
}

}  // namespace tailor::session
