// What became of everything that was to be recorded, in words: the same line under every report.
#pragma once

#include <string>

#include "daemon/query/load/accounting.h"

namespace tailor::cli {

// "Received 1,000 samples = 900 attributed + 90 unattributed + 0 filtered + 10 late; lost 5 (CPU 0: 5);
// throttled 2 times for 8.0 ms." and what else there is to tell. No line break.
std::string accounting_text(const query::Accounting& account);

// "12.0 % of the samples have a stack without a begin: a stack longer than its copy 8.0 %, no rule for the
// address 4.0 %", the most frequent reason first; "" where it is too little to be told.
std::string stacks_text(const query::Accounting& account);

}  // namespace tailor::cli
