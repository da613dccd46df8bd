// Writes records as the kernel would have, for what it had no occasion to tell.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/capture/decode/kernel_symbols.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "proto/base/ids.h"

namespace tailor::capture {

// A PERF_RECORD_LOST: `lost` records of the ring's first event, told at `time`.
std::vector<std::byte> lost_record(const RingLayout& layout, TimeNs time, std::uint64_t lost);

// A PERF_RECORD_KSYMBOL: `function` was there at `time`.
std::vector<std::byte> symbol_record(const RingLayout& layout, TimeNs time, const KernelFunction& function);

}  // namespace tailor::capture
