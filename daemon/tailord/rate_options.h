// Rates that are asked for while the daemon runs.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/os/os.h"
#include "daemon/session/rates.h"
#include "daemon/tailord/options.h"
#include "proto/base/result.h"

namespace tailor::tailord {

// `usual` with `frequency` samples per second of CPU time, without an end. Any thread. Fails beyond
// --max-frequency, where no event takes its period from the frequency, and where the host no longer gives the
// events of `usual`.
Result<session::Rate> rate_of(os::Os& os, const Options& options, const capture::CaptureOptions& usual,
                              std::uint64_t frequency, std::string why);

}  // namespace tailor::tailord
