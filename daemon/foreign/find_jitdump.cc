#include "daemon/foreign/find_jitdump.h"

#include <algorithm>

namespace tailor::foreign {
namespace {

// The next field up to a space; moves `line` behind the spaces that follow.
std::string_view take_field(std::string_view& line) {
  const std::string_view field = line.substr(0, line.find(' '));
  line.remove_prefix(field.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return field;
}

}  // namespace

std::vector<MappedDump> find_jitdumps(std::string_view maps, std::int32_t pid) {
  std::vector<MappedDump> found;
  const std::string name = "/jit-" + std::to_string(pid) + ".dump";
  while (!maps.empty() && found.size() <= kMostDumps) {
    std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(maps.size(), line.size() + 1));
    if (!line.ends_with(name)) continue;
    const std::string_view range = take_field(line);
    const std::string_view protection = take_field(line);
    take_field(line);  // offset
    take_field(line);  // device
    take_field(line);  // inode
    // A path may hold spaces; it is the rest.
    if (protection.size() < 3 || protection[2] != 'x' || !line.starts_with('/')) continue;
    if (range.find_first_not_of("0123456789abcdef-") != std::string_view::npos) continue;
    if (std::ranges::find(found, line, &MappedDump::path) != found.end()) continue;
    found.push_back({std::string(range), std::string(line)});
  }
  return found;
}

}  // namespace tailor::foreign
