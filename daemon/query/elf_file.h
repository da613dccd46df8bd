// Bounded reads of an ELF file that is not trusted: nothing beyond its end, nothing too large, nothing
// mapped.
#pragma once

#include <elf.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::query {

class ElfFile {
 public:
  static Result<ElfFile> open(const std::string& path);

  const Elf64_Ehdr& header() const { return header_; }
  std::int64_t changed_ns() const { return changed_ns_; }  // also when it got its name
  // CRC-32 of the whole file, as debug links have it; 0 if it cannot be read.
  std::uint32_t checksum() const;

  // Empty if they are not all in the file.
  template <typename T>
  std::vector<T> read(std::uint64_t offset, std::uint64_t count) const {
    if (count > kMaxSection / sizeof(T) || offset > size_ || count * sizeof(T) > size_ - offset) return {};
    std::vector<T> out(count);
    if (!read_bytes(offset, out.data(), count * sizeof(T))) out.clear();
    return out;
  }

 private:
  static constexpr std::uint64_t kMaxSection = std::uint64_t{256} << 20;
  ElfFile(UniqueFd fd, std::uint64_t size) : fd_(std::move(fd)), size_(size) {}
  bool read_bytes(std::uint64_t offset, void* to, std::uint64_t bytes) const;

  UniqueFd fd_;
  std::uint64_t size_;
  std::int64_t changed_ns_ = 0;
  Elf64_Ehdr header_{};
};

}  // namespace tailor::query
