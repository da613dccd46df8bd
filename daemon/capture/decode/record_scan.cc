#include "daemon/capture/decode/record_scan.h"

#include <linux/perf_event.h>

#include "daemon/capture/decode/byte_cursor.h"

namespace tailor::capture {

void scan_records(std::span<const std::byte> bytes, RecordScan& scan) {
  while (bytes.size() >= sizeof(perf_event_header)) {
    ByteCursor cursor(bytes);
    std::uint32_t type = cursor.u32();
    cursor.u16();
    std::size_t size = cursor.u16();
    if (size < sizeof(perf_event_header) || size > bytes.size()) return;
    ByteCursor payload(bytes.subspan(sizeof(perf_event_header), size - sizeof(perf_event_header)));
    if (type == PERF_RECORD_LOST) {
      payload.u64();  // id
      scan.lost += payload.u64();
    } else if (type == PERF_RECORD_FORK) {
      payload.u64();  // pid, parent's pid
      std::int32_t tid = payload.i32();
      if (payload.ok()) scan.forked.push_back(tid);
    }
    bytes = bytes.subspan(size);
  }
}

}  // namespace tailor::capture
