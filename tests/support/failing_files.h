// A disk that fails at a call of one's choice: of the store's own writes and of SQLite's.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/os/files.h"

namespace tailor::test {

enum class Fault {
  kNoSpace,  // one call finds no room
  kFull,     // and all later ones
  kIo,       // one call fails with EIO
  kKill,     // the process ends there: neither this call nor a later one does anything
  kDead,     // this call and all later ones fail with EIO
  kShort,    // a write does half of what was asked, and says so: no failure
};

// Counts the calls that change something, and fails where it was told to. A write that fails has written
// half. One at a time; SQLite's calls fail while it lives.
class FailingFiles : public os::Files {
 public:
  // `at`: the call of that number, from 1; 0: none.
  FailingFiles(Fault fault, std::uint64_t at);
  ~FailingFiles() override;

  std::uint64_t calls() const { return calls_; }
  // Whether something has failed, or was short.
  bool struck() const { return struck_; }
  // The errno with which the next call fails, if it does. `needs_room`: a full disk matters to it.
  std::optional<int> next(bool needs_room);
  // Of the write that was counted last: how many of its bytes are to be written.
  std::size_t shortened(std::size_t size);

  Result<UniqueFd> create(const std::string& path, mode_t mode) override;
  Result<std::size_t> write(int fd, std::string_view bytes, std::uint64_t offset) override;
  Status truncate(int fd, std::uint64_t size) override;
  Status sync(int fd) override;
  Status sync_directory(const std::string& path) override;
  Status rename(const std::string& from, const std::string& to) override;
  Status remove(const std::string& path) override;

 private:
  Fault fault_;
  std::uint64_t at_;
  std::uint64_t calls_ = 0;
  bool struck_ = false;
};

}  // namespace tailor::test
