// The build id of a file that a process has mapped, found after the fact. The kernel could say it with the
// mapping (perf_event_attr.build_id), but it then leaves the mark of that on the records of every other
// recorder of the host, and perf ends at such a record. So nobody may ask it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::unwind {

// A file as a record of a mapping names it, and where it was mapped.
struct MappedFile {
  struct Place {
    std::int32_t pid = 0;
    std::uint64_t begin = 0, end = 0;
  };
  std::string path;  // as the process saw it
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0, generation = 0;
  TimeNs mapped = 0;  // CLOCK_REALTIME
  std::vector<Place> places;
  // Processes that began those, which see the same files as a rule.
  std::vector<std::int32_t> ancestors;
};

// What an open file says of itself.
struct FileFacts {
  enum class In : std::uint8_t { kOverlay, kBtrfs, kOther };
  std::uint32_t device_major = 0, device_minor = 0;
  std::uint64_t inode = 0;
  std::optional<std::uint32_t> generation;  // nothing: its file system does not tell it
  TimeNs written = 0, changed = 0;          // its content; anything of it, a new name too
  std::optional<TimeNs> born;
  In in = In::kOther;
};

// How it was found. By its path: in the root of a process that has it mapped still, or anywhere else.
enum class FoundBy : std::uint8_t { kMapping, kPathOfMapping, kPath };

// Whether it is that file for certain, as it was when it was mapped.
bool is_mapped_file(const FileFacts& facts, const MappedFile& file, FoundBy by);

// In hexadecimal; "": it has none, or is not to be found for certain: the process is gone and nothing at its
// path is this file, or what is there was changed after it was mapped. Reads files that strangers may have
// made.
std::string build_id_of(const std::filesystem::path& proc, const MappedFile& file);
// The same of the content id (daemon/os/content_id.h), for a file without a build id. It takes longer.
std::string content_id_of(const std::filesystem::path& proc, const MappedFile& file);

}  // namespace tailor::unwind
