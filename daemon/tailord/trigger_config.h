// The table [triggers] of the configuration file.
#pragma once

#include <toml++/toml.h>

#include "daemon/config/config_file.h"
#include "daemon/tailord/trigger_rules.h"

namespace tailor::tailord {

// Wrong entries are told and left out.
TriggerRules read_triggers(const toml::table& triggers, const config::OnWrong& wrong);

}  // namespace tailor::tailord
