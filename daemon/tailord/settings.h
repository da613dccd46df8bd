// The daemon's own options: one table for the command line, the configuration file and its reading again.
#pragma once

#include "daemon/config/setting.h"
#include "daemon/tailord/options.h"

namespace tailor::tailord {

const config::Settings<Options>& settings();

}  // namespace tailor::tailord
