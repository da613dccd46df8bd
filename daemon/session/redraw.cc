#include "daemon/session/redraw.h"

#include <algorithm>

#include "daemon/capture/select/jitter.h"

namespace tailor::session {
namespace {

constexpr TimeNs kRedrawsApart = 10;  // times redraw_after()

}  // namespace

TimeNs next_redraw(const capture::CaptureOptions& options, TimeNs now) {
  TimeNs after = 0;
  for (const capture::EventSpec& event : options.events) {
    if (capture::is_jittered(event)) after = std::max(after, kRedrawsApart * capture::redraw_after(event));
  }
  return options.jitter && after > 0 ? now + after : kTimeMax;
}

}  // namespace tailor::session
