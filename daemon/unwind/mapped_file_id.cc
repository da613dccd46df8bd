#include "daemon/unwind/mapped_file_id.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "daemon/os/elf_build_id.h"
#include "daemon/os/living_folder.h"
#include "daemon/os/regular_file.h"
#include "daemon/unwind/process_code.h"

namespace tailor::unwind {
namespace {

TimeNs ns_of(const statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

bool is_in_overlay(int fd) {
  struct statfs facts{};
  return ::fstatfs(fd, &facts) == 0 && facts.f_type == OVERLAYFS_SUPER_MAGIC;
}

// What has this number may be a later file that got it again. `certain`: the number need not agree. Overlays
// show other numbers than the kernel tells; a change of their files, a new name too, sets the time of change.
bool is_file(int fd, const MappedFile& file, bool certain) {
  struct statx facts{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &facts) != 0) return false;
  if (ns_of(facts.stx_mtime) > file.mapped) return false;
  const bool unchanged = ns_of(facts.stx_ctime) <= file.mapped;
  const bool numbered = facts.stx_ino == file.inode && facts.stx_dev_major == file.device_major &&
                        facts.stx_dev_minor == file.device_minor;
  if (!numbered) return unchanged && (certain || is_in_overlay(fd));
  if (int generation = 0; ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
    return static_cast<std::uint32_t>(generation) == static_cast<std::uint32_t>(file.generation);
  if ((facts.stx_mask & STATX_BTIME) != 0) return ns_of(facts.stx_btime) <= file.mapped;
  return unchanged;
}

// Whether the process still has it mapped there.
bool is_mapped(const std::filesystem::path& folder, const MappedFile& file, const MappedFile::Place& place) {
  std::ifstream maps(folder / "maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), {});
  return std::ranges::any_of(parse_maps(text), [&](const Mapping& each) {
    return each.begin == place.begin && each.end == place.end && each.path == file.path;
  });
}

std::string id_at(const std::string& path, const MappedFile& file, bool certain) {
  struct stat facts{};
  const UniqueFd opened = os::open_regular(path, facts);
  if (!opened || !is_file(opened.get(), file, certain)) return {};
  return os::elf_build_id(fmt::format("/proc/self/fd/{}", opened.get()));
}

}  // namespace

std::string build_id_of(const std::filesystem::path& proc, const MappedFile& file) {
  for (const MappedFile::Place& place : file.places) {
    const std::filesystem::path folder = os::living_folder(proc, place.pid);
    if (std::string id = id_at((folder / "root").string() + file.path, file, false); !id.empty()) return id;
    const std::string direct = fmt::format("map_files/{:x}-{:x}", place.begin, place.end);
    if (!is_mapped(folder, file, place)) continue;
    if (std::string id = id_at((folder / direct).string(), file, true); !id.empty()) return id;
  }
  return id_at(file.path, file, false);
}

}  // namespace tailor::unwind
