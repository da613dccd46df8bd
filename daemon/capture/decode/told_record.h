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

// No record of the kernel's has this type. Journalled: never renumber.
inline constexpr std::uint32_t kNotDrawnRecord = 0x7A000001;
// A record of that type: `samples` of executions that are not drawn were dropped where they were taken; those
// of timers stand for `on_cpu_ns`.
std::vector<std::byte> not_drawn_record(const RingLayout& layout, TimeNs time, std::uint64_t samples,
                                        std::uint64_t on_cpu_ns);

// A PERF_RECORD_KSYMBOL: `function` was there at `time`. `type`: PERF_RECORD_KSYMBOL_TYPE_... of
// perf_event.h.
std::vector<std::byte> symbol_record(const RingLayout& layout, TimeNs time, const KernelFunction& function,
                                     std::uint16_t type);

}  // namespace tailor::capture
