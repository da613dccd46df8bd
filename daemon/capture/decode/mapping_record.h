// A record of a mapping (perf_event_open(2), PERF_RECORD_MMAP2), before events are decoded and sorted: by
// then the process may have ended.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tailor::capture {

struct MappingBytes {
  std::int32_t pid = 0;
  std::uint64_t begin = 0, size = 0;
  std::uint64_t file_offset = 0;  // of `begin`
  // Which file it is: an id (proto/base/file_id.h), else device and inode. "" and 0: no file.
  std::string build_id;
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0, generation = 0;
  std::string_view path;  // of the record
};

// The build id in what a record with PERF_RECORD_MISC_MMAP_BUILD_ID says of the file; empty where it has
// none. The kernel leaves that mark on the records of another recorder that did not ask for build ids, where
// one that did saw the same mapping: those have device and inode. Such bytes, as far as no build id can look
// like them, are none.
std::span<const std::byte> build_id_in(std::span<const std::byte> file);

// The kernel writes no such records: where a file has no build id, its content id takes that place
// (daemon/unwind/mapping_ids.h), with these four bytes before it. As a device they would have a number that
// Linux does not give.
inline constexpr std::array<std::byte, 4> kContentMark = {std::byte{20}, std::byte{0}, std::byte{'t'},
                                                          std::byte{'x'}};
// The content id there; empty: none.
std::span<const std::byte> content_id_in(std::span<const std::byte> file);

// Nothing where the record is cut short, its range has no end, or the memory is not executable. `record` is a
// whole one of that type.
std::optional<MappingBytes> read_executable_mapping(std::span<const std::byte> record);

}  // namespace tailor::capture
