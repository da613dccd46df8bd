// When the periods of a recording by perf are drawn anew.
#pragma once

#include "daemon/capture/select/event_spec.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Of what was opened just now with these options; kTimeMax: never. Events are replaced for that, and seldom,
// because each of their threads loses half a period.
TimeNs next_redraw(const capture::CaptureOptions& options, TimeNs now);

}  // namespace tailor::session
