// The running daemon as the command line sees it.
#pragma once

#include <string>

#include "proto/base/result.h"
#include "proto/control/control_client.h"
#include "tailor/v1/control.pb.h"

namespace tailor::cli {

// `given`, else TAILOR_STORE, else the store of the daemon that answers, else the first that is there of the
// user's own and the system's.
std::string store_directory(const std::string& given);

// The daemon that TAILOR_CONTROL names, else the user's own, else the system's. The error names all that were
// tried.
Result<control::ControlClient> connect_daemon();

// Asks the running daemon; fails, saying what to do, where none answers.
Result<v1::ControlReply> ask_daemon(const v1::ControlRequest& request);

// What the running daemon says of itself, as it is known there; fails, saying what to do, where none answers.
Result<v1::DaemonStatus> ask_status();
// The same as of now. Asks again for a moment: the daemon answers with what it knows, and says how old that
// is.
Result<v1::DaemonStatus> ask_status_of_now();

// Asks the daemon, if one runs, to write down everything so far. Where none runs the store is read as it is.
void flush_daemon();

}  // namespace tailor::cli
