#include "daemon/capture/decode/pid_filter.h"

#include <linux/perf_event.h>

#include <cstring>

#include "daemon/capture/decode/byte_cursor.h"
#include "daemon/capture/decode/sample_view.h"

namespace tailor::capture {
namespace {

constexpr std::size_t kHeader = sizeof(perf_event_header);

// The record at the front of `bytes`; empty if its size cannot be.
std::span<const std::byte> first_record(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeader) return {};
  perf_event_header header;
  std::memcpy(&header, bytes.data(), kHeader);
  if (header.size < kHeader || header.size > bytes.size()) return {};
  return bytes.first(header.size);
}

std::uint32_t type_of(std::span<const std::byte> record) {
  return ByteCursor(record).u32();
}

}  // namespace

void PidFilter::learn(std::span<const std::byte> bytes) {
  if (!follow_children_) return;
  for (auto record = first_record(bytes); !record.empty(); record = first_record(bytes)) {
    bytes = bytes.subspan(record.size());
    if (type_of(record) != PERF_RECORD_FORK) continue;
    ByteCursor cursor(record.subspan(kHeader));
    std::int32_t pid = cursor.i32();
    std::int32_t parent = cursor.i32();
    if (cursor.ok() && pids_.contains(parent)) pids_.insert(pid);
  }
}

bool PidFilter::keeps(const EventFormat& format, std::span<const std::byte> record) const {
  std::uint64_t type = format.sample_type;
  std::size_t at = kHeader;  // most records begin with their process
  switch (type_of(record)) {
    case PERF_RECORD_SAMPLE:
      at += (!!(type & PERF_SAMPLE_IDENTIFIER) + !!(type & PERF_SAMPLE_IP)) * sizeof(std::uint64_t);
      break;
    case PERF_RECORD_MMAP:
    case PERF_RECORD_MMAP2:
    case PERF_RECORD_COMM:
    case PERF_RECORD_FORK:
    case PERF_RECORD_EXIT:
      break;
    case PERF_RECORD_SWITCH:
    case PERF_RECORD_SWITCH_CPU_WIDE:
      if (record.size() < kHeader + sample_id_size(format)) return true;
      at = record.size() - sample_id_size(format);
      break;
    default:
      return true;
  }
  if (at + sizeof(std::int32_t) > record.size()) return true;
  return pids_.contains(ByteCursor(record.subspan(at)).i32());
}

void PidFilter::apply(const RingLayout& layout, std::vector<std::byte>& bytes) {
  // Formats that differ in front of the thread are a matter of the decoder. The events of one perf recording
  // are the same there.
  const EventFormat& format = layout.formats.front();
  std::span<const std::byte> rest(bytes);
  std::size_t kept = 0;
  for (auto record = first_record(rest); !record.empty(); record = first_record(rest)) {
    rest = rest.subspan(record.size());
    if (!keeps(format, record)) {
      ++removed_;
      if (type_of(record) == PERF_RECORD_SAMPLE) ++removed_samples_;
      continue;
    }
    std::memmove(bytes.data() + kept, record.data(), record.size());
    kept += record.size();
  }
  if (!rest.empty()) std::memmove(bytes.data() + kept, rest.data(), rest.size());
  bytes.resize(kept + rest.size());
}

}  // namespace tailor::capture
