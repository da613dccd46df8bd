// The table [processes] of the configuration file.
#pragma once

#include <toml++/toml.h>

#include <functional>
#include <string>

#include "daemon/session/process_rules.h"

namespace tailor::tailord {

// What is wrong, and where.
using OnWrong = std::function<void(const toml::source_region& where, const std::string& what)>;

// What is wrong is told and left out.
session::ProcessRules read_process_rules(const toml::table& processes, const OnWrong& wrong);

}  // namespace tailor::tailord
