#include "daemon/unwind/mapped_file_id.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "daemon/os/content_id.h"
#include "daemon/os/elf_build_id.h"
#include "daemon/os/living_folder.h"
#include "daemon/os/regular_file.h"
#include "daemon/os/vdso.h"
#include "daemon/profile/mapped_kind.h"
#include "daemon/unwind/process_code.h"

namespace tailor::unwind {
namespace {

TimeNs ns_of(const statx_timestamp& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

// File systems write four bytes, but the number of the call says eight, and so some servers write.
std::optional<std::uint32_t> generation_of(int fd) {
  std::uint64_t generation = 0;
  if (::ioctl(fd, FS_IOC_GETVERSION, &generation) != 0) return std::nullopt;
  return static_cast<std::uint32_t>(generation);
}

// Those of FUSE tell a generation that the kernel does not know.
void add_file_system(int fd, FileFacts& to) {
  struct statfs facts{};
  if (::fstatfs(fd, &facts) != 0) return;
  if (facts.f_type == OVERLAYFS_SUPER_MAGIC) to.in = FileFacts::In::kOverlay;
  if (facts.f_type == BTRFS_SUPER_MAGIC) to.in = FileFacts::In::kBtrfs;
  if (facts.f_type != FUSE_SUPER_MAGIC) to.generation = generation_of(fd);
}

std::optional<FileFacts> facts_of(int fd) {
  struct statx facts{};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &facts) != 0) return std::nullopt;
  FileFacts out;
  out.device_major = facts.stx_dev_major;
  out.device_minor = facts.stx_dev_minor;
  out.inode = facts.stx_ino;
  out.written = ns_of(facts.stx_mtime);
  out.changed = ns_of(facts.stx_ctime);
  if ((facts.stx_mask & STATX_BTIME) != 0) out.born = ns_of(facts.stx_btime);
  add_file_system(fd, out);
  return out;
}

// Whether the process still has it mapped there.
bool is_mapped(const std::filesystem::path& folder, const MappedFile& file, const MappedFile::Place& place) {
  std::ifstream maps(folder / "maps");
  const std::string text((std::istreambuf_iterator<char>(maps)), {});
  return std::ranges::any_of(parse_maps(text), [&](const Mapping& each) {
    return each.begin == place.begin && each.end == place.end && each.path == file.path;
  });
}

using ReadId = std::string (*)(int fd);

std::string read_build_id(int fd) {
  return os::elf_build_id(fmt::format("/proc/self/fd/{}", fd));
}

// Nothing: what is there is not the file.
std::optional<std::string> id_at(const std::string& path, const MappedFile& file, FoundBy by, ReadId read) {
  struct stat regular{};
  const UniqueFd opened = os::open_regular(path, regular);
  if (!opened) return std::nullopt;
  const std::optional<FileFacts> facts = facts_of(opened.get());
  if (!facts || !is_mapped_file(*facts, file, by)) return std::nullopt;
  return read(opened.get());
}

std::string path_in(const std::filesystem::path& folder, const MappedFile& file) {
  return (folder / "root").string() + file.path;
}

// Through a process that had it mapped.
std::optional<std::string> id_in(const std::filesystem::path& proc, const MappedFile& file,
                                 const MappedFile::Place& place, ReadId read) {
  const std::filesystem::path folder = os::living_folder(proc, place.pid);
  const std::string path = path_in(folder, file);
  if (auto id = id_at(path, file, FoundBy::kPath, read)) return id;
  if (!is_mapped(folder, file, place)) return std::nullopt;
  const std::string direct = folder / fmt::format("map_files/{:x}-{:x}", place.begin, place.end);
  if (auto id = id_at(direct, file, FoundBy::kMapping, read)) return id;
  return id_at(path, file, FoundBy::kPathOfMapping, read);
}

std::string id_of(const std::filesystem::path& proc, const MappedFile& file, ReadId read) {
  for (const MappedFile::Place& place : file.places) {
    if (auto id = id_in(proc, file, place, read)) return *id;
  }
  for (const std::int32_t pid : file.ancestors) {
    if (auto id = id_at(path_in(os::living_folder(proc, pid), file), file, FoundBy::kPath, read)) return *id;
  }
  return id_at(file.path, file, FoundBy::kPath, read).value_or("");
}

}  // namespace

// What has this number may be a later file that got it again: its generation is another, or else it was made
// later. Two kinds of file systems show other numbers than the kernel tells. Subvolumes of btrfs have devices
// of their own. So has an overlay, and a file that was copied into it keeps the inode that it had below; a
// change of it, a new name too, sets the time of change.
bool is_mapped_file(const FileFacts& facts, const MappedFile& file, FoundBy by) {
  if (facts.written > file.mapped) return false;
  const bool unchanged = facts.changed <= file.mapped;
  const bool same_inode = facts.inode == file.inode;
  const bool same_device = facts.device_major == file.device_major && facts.device_minor == file.device_minor;
  const bool numbered = same_inode && (same_device || facts.in == FileFacts::In::kBtrfs);
  if (numbered && facts.generation) return *facts.generation == static_cast<std::uint32_t>(file.generation);
  if (same_inode && same_device) return facts.born ? *facts.born <= file.mapped : unchanged;
  if (by == FoundBy::kMapping) return unchanged;
  return unchanged && facts.in == FileFacts::In::kOverlay && (same_inode || by == FoundBy::kPathOfMapping);
}

std::string build_id_of(const std::filesystem::path& proc, const MappedFile& file) {
  if (file.path == profile::kVdsoPath) {
    if (file.places.empty()) return {};
    const MappedFile::Place& place = file.places.front();
    return os::vdso_id(os::living_folder(proc, place.pid), place.begin, place.end);
  }
  return id_of(proc, file, read_build_id);
}

std::string content_id_of(const std::filesystem::path& proc, const MappedFile& file) {
  if (file.path == profile::kVdsoPath) return {};
  return id_of(proc, file, [](int fd) { return os::content_id(fd); });
}

}  // namespace tailor::unwind
