// From a record of the BPF program to the record perf would have written: so a recording by BPF is decoded,
// journalled and replayed as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/bpf/sampler_abi.h"
#include "daemon/capture/event_spec.h"
#include "daemon/capture/ring_chunk.h"
#include "proto/base/ids.h"

namespace tailor::bpf {

// The layout of the records of `events` (one format and one id per event) of the process `pid`. Ring and
// process are the caller's to set. Pure.
capture::RingLayout layout_of(const std::vector<capture::EventSpec>& events, bool all_registers);

// Appends `sample` as a PERF_RECORD_SAMPLE of `layout`, stamped `time`. False, and nothing appended, if it is
// of a source the layout does not have. Pure.
bool encode_sample(const capture::RingLayout& layout, const tailor_bpf_sample& sample, TimeNs time,
                   std::vector<std::byte>& out);

}  // namespace tailor::bpf
