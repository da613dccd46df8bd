#include "daemon/store/output_target.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>

#include "proto/base/errors.h"

namespace tailor::store {
namespace {

constexpr int kMostLinks = 40;  // as the kernel has it

Error target_error(const std::string& what, const std::string& path, int code) {
  return os_error(fmt::format("cannot {} {}: {}", what, path, std::strerror(code)), code);
}

bool same_file(const char* one, const std::string& other) {
  struct stat a{}, b{};
  return ::stat(one, &a) == 0 && ::stat(other.c_str(), &b) == 0 && a.st_dev == b.st_dev &&
         a.st_ino == b.st_ino;
}

bool on_proc(const std::string& directory) {
  struct statfs info{};
  return ::statfs(directory.c_str(), &info) == 0 && info.f_type == PROC_SUPER_MAGIC;
}

// The number of a link in our own directory of descriptors.
std::optional<int> own_descriptor(const std::string& link) {
  if (!same_file("/proc/self/fd", directory_of(link))) return std::nullopt;
  const std::string name = std::filesystem::path(link).filename().string();
  int number = 0;
  const auto [end, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (problem != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return number;
}

// A copy, so that whatever was written before stays, and is not written over.
Result<OutputTarget> copy_of_descriptor(int number, const std::string& path) {
  OutputTarget out;
  out.stream.reset(::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!out.stream) return target_error("write to", output_name(path), errno);
  out.standard_output = number == STDOUT_FILENO;
  return out;
}

Result<OutputTarget> open_stream(const std::string& path, int flags) {
  OutputTarget out;
  out.stream.reset(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags));
  if (!out.stream) return target_error("open", path, errno);
  return out;
}

// The rule of fs.protected_symlinks: else a stranger chooses which of our files is replaced.
Status may_follow(const std::string& link, const struct stat& of_link) {
  struct stat directory{};
  if (::stat(directory_of(link).c_str(), &directory) != 0) return Ok{};
  const bool shared = (directory.st_mode & S_ISVTX) != 0 && (directory.st_mode & S_IWOTH) != 0;
  if (!shared || of_link.st_uid == ::geteuid() || of_link.st_uid == directory.st_uid) return Ok{};
  return denied(fmt::format(
      "{} is a link of another user in a directory where everybody may write: it is not followed", link));
}

Result<std::string> followed(const std::string& link) {
  std::array<char, PATH_MAX> buffer{};
  const ssize_t size = ::readlink(link.c_str(), buffer.data(), buffer.size());
  if (size < 0) return target_error("follow", link, errno);
  const std::string to(buffer.data(), static_cast<std::size_t>(size));
  return to.starts_with('/') ? to : directory_of(link) + "/" + to;
}

// Where a name leads, before anything is opened.
struct Place {
  std::string path;
  std::optional<struct stat> info;  // nothing: there is nothing of that name yet
  std::optional<int> descriptor;    // of this process
  bool proc_link = false;           // of another process; what such a link says need not be a path
};

Result<Place> place_of(const std::string& path) {
  if (path.empty()) return invalid("the name of the output is empty");
  if (path == "-") return Place{path, std::nullopt, STDOUT_FILENO};
  std::string at = path;
  for (int links = 0; links <= kMostLinks; ++links) {
    struct stat info{};
    if (::lstat(at.c_str(), &info) != 0) {
      if (errno != ENOENT) return target_error("write", path, errno);
      if (at.ends_with('/'))
        return os_error(fmt::format("cannot write {}: there is no such directory", at), ENOENT);
      return Place{at, std::nullopt, std::nullopt};
    }
    if (!S_ISLNK(info.st_mode)) return Place{at, info, std::nullopt};
    if (const auto number = own_descriptor(at)) return Place{path, std::nullopt, number};
    if (on_proc(directory_of(at))) return Place{at, info, std::nullopt, true};
    if (Status may = may_follow(at, info); !may) return may.error();
    auto next = followed(at);
    if (!next) return next.error();
    at = *std::move(next);
  }
  return target_error("write", path, ELOOP);
}

Result<OutputTarget> open_place(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) {
    OutputTarget out;
    out.path = path;
    out.exists = true;
    return out;
  }
  if (S_ISDIR(info.st_mode)) return os_error(fmt::format("cannot write {}: it is a directory", path), EISDIR);
  if (S_ISBLK(info.st_mode))
    return invalid(fmt::format("cannot write {}: it is a disk, and what is on it would be lost", path));
  auto out = open_stream(path, O_NOFOLLOW);
  struct stat now{};
  if (out && ::fstat(out->stream.get(), &now) == 0 && (now.st_mode & S_IFMT) != (info.st_mode & S_IFMT))
    return unavailable(fmt::format("cannot write {}: something else took its place meanwhile", path));
  return out;
}

}  // namespace

Result<OutputTarget> find_output_target(const std::string& path) {
  auto place = place_of(path);
  if (!place) return place.error();
  if (place->descriptor) return copy_of_descriptor(*place->descriptor, path);
  if (place->proc_link) return open_stream(place->path, O_TRUNC);
  if (place->info) return open_place(place->path, *place->info);
  OutputTarget out;
  out.path = place->path;
  return out;
}

bool is_standard_output(const std::string& path) {
  const auto place = place_of(path);
  return place && place->descriptor == STDOUT_FILENO;
}

std::string directory_of(const std::string& path) {
  const std::string parent = std::filesystem::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string output_name(const std::string& path) {
  return path == "-" ? "standard output" : path;
}

}  // namespace tailor::store
