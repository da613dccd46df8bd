// How much memory the records of a profile take.
#pragma once

#include <cstddef>

#include "daemon/profile/records.h"

namespace tailor::profile {

// Bytes of what the record holds besides itself: its error, its labels, the runs that it adds up, and who
// held locks that it waited for.
std::size_t bytes_held(const ExecutionRecord& execution);

}  // namespace tailor::profile
