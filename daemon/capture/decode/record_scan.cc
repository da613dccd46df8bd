#include "daemon/capture/decode/record_scan.h"

#include "daemon/capture/decode/byte_cursor.h"

namespace tailor::capture {

void scan_records(std::span<const std::byte> bytes, RecordScan& scan) {
  for_each_record(bytes, [&](const perf_event_header& header, std::span<const std::byte> record) {
    ByteCursor payload(record.subspan(sizeof header));
    if (header.type == PERF_RECORD_LOST) {
      payload.u64();  // id
      scan.lost += payload.u64();
    } else if (header.type == PERF_RECORD_FORK) {
      payload.u64();  // pid, parent's pid
      const std::int32_t tid = payload.i32();
      if (payload.ok()) scan.forked.push_back(tid);
    }
  });
}

}  // namespace tailor::capture
