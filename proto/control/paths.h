// Where daemon and command line meet unless they are told otherwise.
#pragma once

#include <string>
#include <vector>

namespace tailor::control {

// TAILOR_SOCKET, TAILOR_CONTROL and TAILOR_STORE come first. Without them: of root under /run/tailor and
// /var/lib/tailor; of others under $XDG_RUNTIME_DIR/tailor and $XDG_STATE_HOME/tailor (or where these default
// to), so that a daemon can be run without privileges. Agents look at TAILOR_SOCKET and /run/tailor only.
std::string agent_socket_path();
std::string control_socket_path();
std::string store_path();

// Where clients look for a daemon, and for a store, in this order: what the variable names, and nothing else;
// without it the user's own place, then that of the daemon of the whole host (the same for root). Never
// empty.
std::vector<std::string> control_socket_places();
std::vector<std::string> store_places();

// The one of them that lies where everybody may write: used without XDG_RUNTIME_DIR. See socket_directory.h.
std::string shared_run_directory();

}  // namespace tailor::control
