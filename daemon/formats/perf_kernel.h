// Where the kernel of a perf.data had its code.
#pragma once

#include <string>

#include "daemon/formats/perf_file.h"

namespace tailor::formats {

// perf tells of the kernel as of a file that is mapped, "[kernel.kallsyms]_text", with the address of the
// symbol at the end of that name. `records`: whole records of the kernel. As RecordingInfo::kernel_anchor; ""
// where none of them tells of it.
std::string kernel_anchor_in(PerfBytes records);

}  // namespace tailor::formats
