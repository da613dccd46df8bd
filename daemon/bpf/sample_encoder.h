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

// The layout of the records of `events`: a format and an id for each, and with `stacks` two more each, for
// samples that bring their stack, and those that bring the objects of their thread too; then all of them once
// more for samples with a state; with `switches` at the end two, without a state and with one, for the slots
// of threads that leave the CPU, of that source. Ring and process are the caller's to set. Pure.
capture::RingLayout layout_of(const std::vector<capture::EventSpec>& events, bool all_registers, bool stacks,
                              std::optional<std::uint16_t> switches = std::nullopt);

// What came with a sample. Does not own it.
struct Brought {
  std::span<const std::byte> stack;     // from the stack pointer up; whole words
  std::uint32_t method = 0;             // of the objects
  std::span<const __u64> objects = {};  // only beside a stack, as what follows
  tailor_bpf_anchor anchor = {};
  std::uint64_t upper_at = 0;
  std::span<const std::byte> upper = {};  // of the stack, from upper_at up; whole words
};

// Appends `sample` as a PERF_RECORD_SAMPLE of `layout`, stamped `time`, with what it brought if that is not
// empty: objects are its raw data. The upper piece of the stack lies behind what the record says was really
// on the stack; where it belongs, and the anchor, say the places of capture/decode/register_masks.h. False,
// and nothing appended, if the layout has no such format. Pure.
bool encode_sample(const capture::RingLayout& layout, const tailor_bpf_sample& sample, const Brought& brought,
                   TimeNs time, std::vector<std::byte>& out);

// The same for samples that were added up: one with all their weight. The tag stands wherever one may be.
bool encode_sum(const capture::RingLayout& layout, const tailor_bpf_sum_key& key, const tailor_bpf_sum& sum,
                TimeNs time, std::vector<std::byte>& out);

}  // namespace tailor::bpf
