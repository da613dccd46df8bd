// What each user, and each asker over HTTP, uses of the daemon, as text.
#pragma once

#include <string>

#include "tailor/v1/control.pb.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// A line for each user of the status; "" where there is none.
std::string render_users(const v1::DaemonStatus& status, const Terminal& terminal);
// The same for who asks over HTTP.
std::string render_http(const v1::DaemonStatus& status, const Terminal& terminal);

}  // namespace tailor::cli
