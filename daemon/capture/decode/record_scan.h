// A first look at raw records, without decoding them: what the reader itself must know.
#pragma once

#include <linux/perf_event.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace tailor::capture {

struct RecordScan {
  std::uint64_t lost = 0;            // sum over PERF_RECORD_LOST
  std::vector<std::int32_t> forked;  // thread ids of PERF_RECORD_FORK
};

// Gives each record to visit(header, record). Stops at the first whose size cannot be, and returns the rest.
template <typename Visit>
std::span<const std::byte> for_each_record(std::span<const std::byte> bytes, const Visit& visit) {
  perf_event_header header;
  while (bytes.size() >= sizeof header) {
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.size < sizeof header || header.size > bytes.size()) break;
    visit(header, bytes.first(header.size));
    bytes = bytes.subspan(header.size);
  }
  return bytes;
}

// Adds what `bytes` hold to `scan`. Stops at the first record whose size cannot be.
void scan_records(std::span<const std::byte> bytes, RecordScan& scan);

}  // namespace tailor::capture
