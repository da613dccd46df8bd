#include "compiler/weft/storage/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::weft {
namespace {

Error system_error(const char* what, const std::string& path, int code) {
  return os_error(fmt::format("cannot {} {}: {}", what, path, std::strerror(code)), code);
}

}  // namespace

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return system_error("open", path, errno);
  struct stat info;
  if (::fstat(fd.get(), &info) != 0) return system_error("examine", path, errno);
  if (!S_ISREG(info.st_mode)) return invalid(fmt::format("{} is not a regular file", path));
  if (info.st_size == 0) return MappedFile();
  std::size_t size = static_cast<std::size_t>(info.st_size);
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return system_error("map", path, errno);
  return MappedFile(static_cast<std::byte*>(data), size);
}

Result<MappedFile> MappedFile::create(const std::string& path, std::size_t size) {
  UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!fd) return system_error("create", path, errno);
  if (int code = ::posix_fallocate(fd.get(), 0, static_cast<off_t>(size)); code != 0) {
    return system_error("make room for", path, code);
  }
  void* data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED) return system_error("map", path, errno);
  return MappedFile(static_cast<std::byte*>(data), size);
}

Status MappedFile::sync() {
  if (data_ != nullptr && ::msync(data_, size_, MS_SYNC) != 0)
    return system_error("write", "a table file", errno);
  return Ok{};
}

}  // namespace tailor::weft
