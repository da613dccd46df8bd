// The table [processes] of the configuration file.
#pragma once

#include <toml++/toml.h>

#include "daemon/config/config_file.h"
#include "daemon/session/process_rules.h"

namespace tailor::tailord {

// Wrong entries are told and left out.
session::ProcessRules read_process_rules(const toml::table& processes, const config::OnWrong& wrong);

}  // namespace tailor::tailord
