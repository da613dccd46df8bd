#include "daemon/capture/decode/mapping_record.h"

#include <linux/perf_event.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "daemon/capture/decode/byte_cursor.h"
#include "proto/base/file_id.h"
#include "proto/base/hex.h"

namespace tailor::capture {

namespace {

constexpr std::size_t kBefore = 4, kMost = 20;  // bytes of a record: before an id, and of it

std::string id_in(std::span<const std::byte> file) {
  if (const auto id = content_id_in(file); !id.empty()) return std::string(kContentId) + hex_text(id);
  return hex_text(build_id_in(file));
}

}  // namespace

// One byte of size, three that are 0, up to twenty of build id, and 0 up to the end.
std::span<const std::byte> build_id_in(std::span<const std::byte> file) {
  if (file.size() != kBefore + kMost) return {};
  const auto size = std::to_integer<std::size_t>(file[0]);
  const auto is_zero = [](std::byte each) { return each == std::byte{0}; };
  if (size > kMost || !std::ranges::all_of(file.subspan(1, kBefore - 1), is_zero)) return {};
  if (!std::ranges::all_of(file.subspan(kBefore + size), is_zero)) return {};
  return file.subspan(kBefore, size);
}

std::span<const std::byte> content_id_in(std::span<const std::byte> file) {
  const bool marked = file.size() == kBefore + kMost && std::ranges::equal(file.first(kBefore), kContentMark);
  return marked ? file.subspan(kBefore) : std::span<const std::byte>();
}

std::optional<MappingBytes> read_executable_mapping(std::span<const std::byte> record) {
  constexpr std::size_t kFile = 24;  // bytes
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
  const auto identity = fields.take(kFile);
  const std::uint32_t protection = fields.u32();
  fields.u32();  // flags
  const bool executable = (protection & PROT_EXEC) != 0;
  if (!fields.ok() || out.pid <= 0 || !executable || out.size == 0 || out.begin > UINT64_MAX - out.size)
    return std::nullopt;
  if ((header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) != 0) out.build_id = id_in(identity);
  if (out.build_id.empty()) {
    ByteCursor file(identity);
    out.device_major = file.u32();
    out.device_minor = file.u32();
    out.inode = file.u64();
    out.generation = file.u64();
  }
  const auto text = fields.take(fields.remaining());
  const std::string_view path(reinterpret_cast<const char*>(text.data()), text.size());
  out.path = path.substr(0, path.find('\0'));
  return out;
}

}  // namespace tailor::capture
