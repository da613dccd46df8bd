#include "daemon/store/store_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "daemon/store/file_io.h"
#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::store {
namespace {

constexpr std::string_view kDataSuffix = ".data";
constexpr std::string_view kDictionarySuffix = ".dictionary";

constexpr mode_t kDirectoryMode = 0750;
constexpr mode_t kFileMode = 0640;

// "000000000012.data"
bool parse_name(std::string_view name, SegmentFile& out) {
  if (name.ends_with(kDataSuffix)) {
    out.kind = FileKind::kDataSegment;
    name.remove_suffix(kDataSuffix.size());
  } else if (name.ends_with(kDictionarySuffix)) {
    out.kind = FileKind::kDictionarySegment;
    name.remove_suffix(kDictionarySuffix.size());
  } else {
    return false;
  }
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out.number);
  return error == std::errc() && end == name.data() + name.size() && out.number > 0;
}

// Through a descriptor: what is checked is what is changed.
Status tighten(const std::string& directory) {
  const UniqueFd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    return os_error(fmt::format("cannot open the store {}: {}", directory, std::strerror(errno)), errno);
  if (info.st_uid != ::geteuid()) {
    return os_error(fmt::format("the store {} belongs to user {}, not to user {} who is to write it",
                                directory, info.st_uid, ::geteuid()),
                    EPERM);
  }
  const mode_t mode = info.st_mode & 07777;
  if ((mode & ~kDirectoryMode) == 0 || ::fchmod(fd.get(), mode & kDirectoryMode) == 0) return Ok{};
  return os_error(fmt::format("the store {} is open to others (mode {:04o}), and that cannot be changed: {}",
                              directory, mode, std::strerror(errno)),
                  errno);
}

}  // namespace

std::string segment_path(const std::string& directory, std::uint64_t number, FileKind kind) {
  const std::string_view suffix = kind == FileKind::kDataSegment ? kDataSuffix : kDictionarySuffix;
  return fmt::format("{}/{:012}{}", directory, number, suffix);
}

std::string catalogue_path(const std::string& directory) {
  return directory + "/catalogue.sqlite";
}

Result<std::vector<SegmentFile>> list_segments(const std::string& directory) {
  std::error_code error;
  std::vector<SegmentFile> files;
  std::filesystem::directory_iterator it(directory, error);
  if (error)
    return os_error(fmt::format("cannot read the store {}: {}", directory, error.message()), error.value());
  for (; it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (error) break;
    SegmentFile file;
    if (!parse_name(it->path().filename().native(), file)) continue;
    file.bytes = it->file_size(error);
    if (!error) files.push_back(file);  // else removed meanwhile
  }
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.number < b.number; });
  return files;
}

Status make_store_directory(const std::string& directory) {
  std::error_code error;
  const bool created = std::filesystem::create_directories(directory, error);
  if (error)
    return os_error(fmt::format("cannot create the store {}: {}", directory, error.message()), error.value());
  if (!created) return tighten(directory);
  if (::chmod(directory.c_str(), kDirectoryMode) != 0)
    return os_error(fmt::format("cannot set the mode of {}", directory), errno);
  const std::string parent = std::filesystem::path(directory).parent_path();
  return sync_directory(parent.empty() ? std::string(".") : parent);
}

Status make_private_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  struct stat info{};
  if (!fd || ::fstat(fd.get(), &info) != 0)
    return os_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  const mode_t mode = info.st_mode & 07777;
  if ((mode & ~kFileMode) == 0 || ::fchmod(fd.get(), mode & kFileMode) == 0) return Ok{};
  return os_error(fmt::format("{} is open to others (mode {:04o}), and that cannot be changed: {}", path,
                              mode, std::strerror(errno)),
                  errno);
}

}  // namespace tailor::store
