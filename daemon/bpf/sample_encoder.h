// From a record of the BPF program to the record perf would have written: so a recording by BPF is decoded,
// journalled and replayed as any other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "daemon/bpf/sampler_abi.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/select/event_spec.h"
#include "proto/base/ids.h"

namespace tailor::bpf {

// The layout of the records of `events`: a format and an id for each, and with `stacks` another one each for
// samples that bring their stack; with `switches` a last one for the slots of threads that leave the CPU, of
// that source. Ring and process are the caller's to set. Pure.
capture::RingLayout layout_of(const std::vector<capture::EventSpec>& events, bool all_registers, bool stacks,
                              std::optional<std::uint16_t> switches = std::nullopt);

// Appends `sample` as a PERF_RECORD_SAMPLE of `layout`, stamped `time`, with `stack` if that is not empty
// (whole words). False, and nothing appended, if the layout has no such format. Pure.
bool encode_sample(const capture::RingLayout& layout, const tailor_bpf_sample& sample,
                   std::span<const std::byte> stack, TimeNs time, std::vector<std::byte>& out);

// The same for samples that were added up: one with all their weight. The tag stands wherever one may be.
bool encode_sum(const capture::RingLayout& layout, const tailor_bpf_sum_key& key, const tailor_bpf_sum& sum,
                TimeNs time, std::vector<std::byte>& out);

}  // namespace tailor::bpf
