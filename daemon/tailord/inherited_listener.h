// The agent socket where the service manager has made it (sd_listen_fds(3)): engines can connect before the
// daemon runs, and while it is started again.
#pragma once

#include <string>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::tailord {

// No descriptor where none was handed over to this process. Fails if something else than one listening
// SOCK_SEQPACKET socket at `path` was. Takes LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES out of the
// environment. Main thread, before there are others.
Result<UniqueFd> inherited_listener(const std::string& path);

}  // namespace tailor::tailord
