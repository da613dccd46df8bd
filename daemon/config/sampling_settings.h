// The options behind SamplingOptions, declared once for `tailor record` and tailord.
#pragma once

#include "daemon/config/sampling_options.h"
#include "daemon/config/setting.h"

namespace tailor::config {

const Settings<SamplingOptions>& sampling_settings();

}  // namespace tailor::config
