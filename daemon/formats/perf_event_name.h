// The name perf gives to an event that was recorded without one.
#pragma once

#include <linux/perf_event.h>

#include <string>

namespace tailor::formats {

// "cycles:pp" for the kernel's generic events, "type/config" in numbers for all others.
std::string event_name(const perf_event_attr& attr);

}  // namespace tailor::formats
