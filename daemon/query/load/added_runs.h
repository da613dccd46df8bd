// Runs that an engine added up, under the names that reports use.
#pragma once

#include "daemon/profile/added_runs.h"

namespace tailor::query {

using profile::adds_up_runs;

}  // namespace tailor::query
