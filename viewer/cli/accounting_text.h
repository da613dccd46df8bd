// What became of everything that was to be recorded, in words: the same line under every report.
#pragma once

#include <string>

#include "daemon/query/load/accounting.h"

namespace tailor::cli {

// "Received 1,000 samples = 900 attributed + 90 unattributed + 0 filtered + 10 late; lost 5 (CPU 0: 5);
// throttled 2 times for 8.0 ms." and what else there is to tell. No line break.
std::string accounting_text(const query::Accounting& account);

}  // namespace tailor::cli
