// One perf record to one event: the two halves of RecordDecoder.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <span>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/decode/sample_view.h"

namespace tailor::capture {

// A record with its header taken off.
struct RecordView {
  std::uint32_t type = 0;
  std::uint16_t misc = 0;
  std::span<const std::byte> payload;
};

enum class RecordOutcome : std::uint8_t { kDecoded, kMalformed, kUnknownType };

profile::Mode mode_of(std::uint16_t misc);

// Appends one event for the fields of a PERF_RECORD_SAMPLE.
void append_sample(const EventFormat& format, std::uint32_t ring_cpu, std::uint16_t misc,
                   const SampleView& sample, Batch& out);

// Parses a PERF_RECORD_SAMPLE and appends its event. On kMalformed `out` is as before.
RecordOutcome decode_sample(const EventFormat& format, std::uint32_t ring_cpu, const RecordView& record,
                            Batch& out);

// Appends one event for any other record. On failure `out` is as before.
RecordOutcome decode_sideband(const EventFormat& format, std::uint32_t ring_cpu, const RecordView& record,
                              Batch& out);

}  // namespace tailor::capture
