// The build id of a file that a process has mapped, found after the fact. The kernel could say it with the
// mapping (perf_event_attr.build_id), but it then leaves the mark of that on the records of every other
// recorder of the host, and perf ends at such a record. So nobody may ask it.
#pragma once

#include <cstdint>
#include <filesystem>
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
};

// In hexadecimal; "": it has none, or is not to be found for certain: the process is gone and nothing at its
// path is this file, or what is there was changed after it was mapped. Reads files that strangers may have
// made.
std::string build_id_of(const std::filesystem::path& proc, const MappedFile& file);

}  // namespace tailor::unwind
