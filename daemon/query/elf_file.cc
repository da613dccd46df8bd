#include "daemon/query/elf_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"

namespace tailor::query {

Result<ElfFile> ElfFile::open(const std::string& path) {
  // Without O_NONBLOCK a FIFO of that name would wait for a writer.
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return os_error(fmt::format("cannot open {}: {}", path, std::strerror(errno)), errno);
  struct stat facts{};
  if (::fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) return invalid(path + " is no regular file");
  ElfFile file(std::move(fd), static_cast<std::uint64_t>(facts.st_size));
  file.changed_ns_ = facts.st_ctim.tv_sec * std::int64_t{1'000'000'000} + facts.st_ctim.tv_nsec;
  const auto header = file.read<Elf64_Ehdr>(0, 1);
  if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0 ||
      header[0].e_ident[EI_CLASS] != ELFCLASS64 || header[0].e_ident[EI_DATA] != ELFDATA2LSB) {
    return invalid(path + " is no 64-bit ELF file");
  }
  file.header_ = header[0];
  return file;
}

bool ElfFile::read_bytes(std::uint64_t offset, void* to, std::uint64_t bytes) const {
  auto* at = static_cast<char*>(to);
  for (std::uint64_t done = 0; done < bytes;) {
    const ssize_t n = ::pread(fd_.get(), at + done, bytes - done, static_cast<off_t>(offset + done));
    if (n <= 0) return false;
    done += static_cast<std::uint64_t>(n);
  }
  return true;
}

std::uint32_t ElfFile::checksum() const {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 20;
  constexpr std::uint64_t kMost = std::uint64_t{4} << 30;
  if (size_ > kMost) return 0;
  uLong sum = ::crc32(0, nullptr, 0);
  std::vector<unsigned char> piece(std::min(kPiece, size_));
  for (std::uint64_t done = 0; done < size_;) {
    const std::uint64_t here = std::min<std::uint64_t>(piece.size(), size_ - done);
    if (!read_bytes(done, piece.data(), here)) return 0;
    sum = ::crc32(sum, piece.data(), static_cast<uInt>(here));
    done += here;
  }
  return static_cast<std::uint32_t>(sum);
}

}  // namespace tailor::query
