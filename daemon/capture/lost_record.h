// Writes a PERF_RECORD_LOST as the kernel would have, for losses it had no occasion to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/capture/ring_chunk.h"
#include "proto/base/ids.h"

namespace tailor::capture {

// `lost` records of the ring's first event, told at `time`.
std::vector<std::byte> lost_record(const RingLayout& layout, TimeNs time, std::uint64_t lost);

}  // namespace tailor::capture
