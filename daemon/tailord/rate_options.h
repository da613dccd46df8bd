// Rates that are asked for while the daemon runs.
#pragma once

#include <string>

#include "daemon/os/os.h"
#include "daemon/session/rates.h"
#include "daemon/tailord/options.h"
#include "daemon/tailord/trigger_rules.h"
#include "proto/base/result.h"

namespace tailor::tailord {

// `usual` as `raise` asks for, without an end. Any thread. Fails beyond --max-frequency, where no event takes
// its period from the frequency, where samples cannot bring what is asked for, and where the host no longer
// gives the events of `usual`.
Result<session::Rate> rate_of(os::Os& os, const Options& options, const capture::CaptureOptions& usual,
                              const Raise& raise, std::string why);

}  // namespace tailor::tailord
