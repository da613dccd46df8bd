// A file mapped into memory for as long as the object lives.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>

#include "proto/base/result.h"

namespace tailor::weft {

class MappedFile {
 public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  // Maps the whole file read-only. An empty file gives an empty mapping.
  static Result<MappedFile> open(const std::string& path);
  // Creates (or replaces) the file with `size` zero bytes and maps it writable. Fails with ENOSPC now, not
  // with SIGBUS later.
  static Result<MappedFile> create(const std::string& path, std::size_t size);
  // Writes a mapping made by create() back to the disk.
  Status sync();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  std::byte* data() { return data_; }

 private:
  MappedFile(std::byte* data, std::size_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace tailor::weft
