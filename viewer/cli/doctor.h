// `tailor doctor`: what keeps Tailor from showing all it could, each finding with its remedy.
#pragma once

#include <string>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "tailor/v1/control.pb.h"
#include "viewer/cli/blocked_agents.h"
#include "viewer/cli/finding.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Opens events on the calling thread, to see whether the kernel lets us. Counts nothing.
std::vector<Finding> look_at_host(os::Os& os);

// `blocked`: engines whose agents may not open its socket (find_blocked_agents()).
std::vector<Finding> look_at_daemon(const v1::DaemonStatus& status, const std::vector<BlockedAgent>& blocked);

// Whether engines of this user may open the socket where agents register. Nothing where there is none.
std::vector<Finding> look_at_agent_socket(const std::string& path);

// What is kept of the functions of recorded files; `cache` NULL: nothing is.
Finding look_at_symbol_cache(const query::SymbolCache* cache);

// The same of the daemon that answers at the control socket; that none does is a note, that this
// user may not ask it is a problem.
std::vector<Finding> ask_daemon();

// Of what was recorded of an engine.
std::vector<Finding> look_at_profile(const query::Profile& profile, const query::PlanReport& report);

// "ok", "note", "problem".
std::string_view state_key(Finding::State state);
std::string render(const std::vector<Finding>& findings, const Terminal& terminal);
// An array of state, check, cause, found, remedy; ends without a new line.
std::string findings_json(const std::vector<Finding>& findings);

}  // namespace tailor::cli
