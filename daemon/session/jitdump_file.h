// The jitdump of a running process, read as it grows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "daemon/foreign/find_jitdump.h"
#include "daemon/formats/jitdump.h"
#include "daemon/session/read_mark.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::session {

// One thread.
class JitDumpFile {
 public:
  // More is not read of one dump, however often it is written again; the error says so.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{4} << 30;

  // A dump that the process has mapped. `directory` is its folder in /proc, `pid` its number as it sees
  // itself, `uid` its user. It is open unless the file cannot be opened, or is not to be believed.
  JitDumpFile(const std::filesystem::path& directory, const foreign::MappedDump& mapped, std::int32_t pid,
              std::uint32_t uid);

  // The same by its path as the process saw it, inside of the process's root directory.
  JitDumpFile(int root, const std::string& path, std::int32_t pid, std::uint32_t uid);

  // Takes what was written since the last call, or a part of it that is worth one look. A dump that was
  // written again is taken from its begin. An error, once, if it is no jitdump of this process; nothing more
  // is taken from it then.
  Result<std::vector<formats::JitSymbol>> read();
  // There was more than the last call took.
  bool goes_on() const { return goes_on_; }

  bool open() const { return static_cast<bool>(file_); }
  // By any name.
  bool is_same_file(const JitDumpFile& other) const;
  const std::string& path() const { return path_; }  // as the process sees it
  bool tsc_timestamps() const { return parser_.tsc_timestamps(); }
  std::size_t memory() const { return parser_.memory(); }
  std::uint64_t malformed() const { return malformed_before_ + parser_.malformed(); }

 private:
  void begin_again();
  Status take(std::uint64_t end);

  UniqueFd file_;
  std::string path_;
  std::int32_t pid_ = 0;
  ReadMark mark_;
  std::uint64_t taken_ = 0;  // bytes, ever
  bool refused_ = false, goes_on_ = false;
  formats::JitDumpParser parser_;
  std::uint64_t malformed_before_ = 0;  // records, before it was written again
};

}  // namespace tailor::session
