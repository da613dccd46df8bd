// What a profile says about the machine it was made on.
#pragma once

#include "daemon/os/os.h"
#include "daemon/profile/sink.h"

namespace tailor::session {

// Of this program: that of the project in CMakeLists.txt.
extern const char* const kVersion;

// Host, kernel, CPU, version and wall clock; what cannot be found out stays empty.
profile::RecordingInfo host_info(const os::Os& os);

}  // namespace tailor::session
