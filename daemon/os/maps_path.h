// The path at the end of a line of /proc/PID/maps.
#pragma once

#include <string>
#include <string_view>

namespace tailor::os {

// As the file has it: the kernel writes the end of a line in it as "\012", and leaves all else as it is
// (seq_path() with "\n"). So a path with just these four characters in it looks the same; it is rarer still.
inline std::string path_of_maps(std::string_view told) {
  constexpr std::string_view kEnd = "\\012";
  std::string path(told);
  for (std::size_t at = path.find(kEnd); at != path.npos; at = path.find(kEnd, at + 1))
    path.replace(at, kEnd.size(), 1, '\n');
  return path;
}

}  // namespace tailor::os
