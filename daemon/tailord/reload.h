// What a configuration that is read again may change.
#pragma once

#include <string>
#include <vector>

#include "daemon/tailord/options.h"

namespace tailor::tailord {

// Keys that differ, by name.
struct Changes {
  std::vector<std::string> at_run_time;    // take effect when the file is read again
  std::vector<std::string> needs_restart;  // keep their old value until then
};

Changes changes_of(const Options& before, const Options& after);

// Takes over the values that may change at run time, and touches no other: other threads read those.
void take_changes(Options& options, const Options& after);

}  // namespace tailor::tailord
