// The two ways blocks meet storage, as interfaces so that tests can fill the disk or cut a file anywhere.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "daemon/os/files.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::store {

// An append-only file. One thread.
class Output {
 public:
  virtual ~Output() = default;
  // All of `bytes` or, with an error, none of them: a part that was written is taken back.
  virtual Status append(std::string_view bytes) = 0;
  // Appended bytes survive a power failure once this has succeeded.
  virtual Status sync() = 0;
};

// Bytes to read from any place. A file may grow meanwhile.
class Input {
 public:
  virtual ~Input() = default;
  // Fills as much of `out` as there is at `offset`; 0 means the end. Errors are the operating system's.
  virtual Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) = 0;
};

enum class Existing { kRefuse, kReplace };

// Creates `path` (mode 0640: profiles hold query texts). With kReplace a file of that name is unlinked first,
// so that a reader of the old one keeps it; a character device (/dev/null) is written to instead. The
// directory entry is synced. Any thread may call its sync(). `files` must outlive the output.
Result<std::unique_ptr<Output>> create_file(const std::string& path, Existing existing,
                                            os::Files& files = os::real_files());

// Opens a regular file; refuses others.
Result<std::unique_ptr<Input>> open_file(const std::string& path);

// Makes renames, creations and removals in `directory` durable.
Status sync_directory(const std::string& directory, os::Files& files = os::real_files());

// Reads from memory that must outlive it.
class MemoryInput : public Input {
 public:
  explicit MemoryInput(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  explicit MemoryInput(std::string_view bytes)
      : bytes_(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) override;

 private:
  std::span<const std::uint8_t> bytes_;
};

}  // namespace tailor::store
