// What a kernel before 6.0 does not know of what we ask for, given up one by one.
#pragma once

#include <linux/perf_event.h>

#include <string>

namespace tailor::capture {

// After EINVAL: takes the newest wish out of the attributes that is still there, and says what is missing
// now. Empty if there is none left; the error has another cause then.
//
//   6.0   PERF_FORMAT_LOST: losses that no record tells
//   5.13  inherit_thread: events that forked processes do not inherit
std::string give_up_newest(perf_event_attr& attr);

}  // namespace tailor::capture
