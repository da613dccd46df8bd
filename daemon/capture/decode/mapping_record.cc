#include "daemon/capture/decode/mapping_record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "daemon/capture/decode/byte_cursor.h"
#include "proto/base/hex.h"

namespace tailor::capture {

std::optional<MappingBytes> read_executable_mapping(std::span<const std::byte> record) {
  constexpr std::size_t kFile = 24, kMostOfABuildId = 20;  // bytes
  perf_event_header header;
  if (record.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, record.data(), sizeof header);
  ByteCursor fields(record.subspan(sizeof header));
  MappingBytes out;
  out.pid = fields.i32();
  fields.u32();  // thread
  out.begin = fields.u64();
  out.size = fields.u64();
  out.file_offset = fields.u64();
  ByteCursor file(fields.take(kFile));
  const std::uint32_t protection = fields.u32();
  fields.u32();  // flags
  const bool executable = (protection & PROT_EXEC) != 0;
  if (!fields.ok() || out.pid <= 0 || !executable || out.size == 0 || out.begin > UINT64_MAX - out.size)
    return std::nullopt;
  if ((header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) {
    const std::size_t size = file.u32() & 0xFF;
    out.build_id = hex_text(file.take(std::min(size, kMostOfABuildId)));
  } else {
    out.device_major = file.u32();
    out.device_minor = file.u32();
    out.inode = file.u64();
  }
  const auto text = fields.take(fields.remaining());
  const std::string_view path(reinterpret_cast<const char*>(text.data()), text.size());
  out.path = path.substr(0, path.find('\0'));
  return out;
}

}  // namespace tailor::capture
