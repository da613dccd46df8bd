// A first look at raw records, without decoding them: what the reader itself must know.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tailor::capture {

struct RecordScan {
  std::uint64_t lost = 0;            // sum over PERF_RECORD_LOST
  std::vector<std::int32_t> forked;  // thread ids of PERF_RECORD_FORK
};

// Adds what `bytes` hold to `scan`. Stops at the first record whose size cannot be.
void scan_records(std::span<const std::byte> bytes, RecordScan& scan);

}  // namespace tailor::capture
