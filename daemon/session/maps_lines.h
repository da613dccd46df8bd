// The lines of /proc/PID/maps (proc(5)).
#pragma once

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "daemon/os/maps_path.h"

namespace tailor::session {

struct MapsLine {
  std::uint64_t begin = 0, end = 0, offset = 0;
  char protection[5] = {}, device[16] = {};
  std::uint64_t inode = 0;
  std::string name;  // may be empty; with " (deleted)" behind it where the file was removed or replaced
};

// `folder`: of the process (os::living_folder()). Lines that make no sense are left out.
template <typename Visit>
void for_each_mapping(const std::filesystem::path& folder, const Visit& visit) {
  std::ifstream maps(folder / "maps");
  for (std::string text; std::getline(maps, text);) {
    MapsLine line;
    int path = 0;
    const int fields =
        std::sscanf(text.c_str(), "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %15s %" SCNu64 " %n", &line.begin,
                    &line.end, line.protection, &line.offset, line.device, &line.inode, &path);
    if (fields < 6 || path <= 0 || line.end <= line.begin) continue;
    line.name = os::path_of_maps(
        std::string_view(text).substr(std::min(static_cast<std::size_t>(path), text.size())));
    visit(line);
  }
}

}  // namespace tailor::session
