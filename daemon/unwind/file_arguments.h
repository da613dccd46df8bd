// The first arguments of the functions of one file, each found when it is asked for first.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/unwind/elf_cfi.h"
#include "daemon/unwind/first_argument.h"
#include "proto/base/unique_fd.h"

namespace tailor::unwind {

// Bytes are hostile: anybody may have written the file, and may change it. One thread.
class FileArguments {
 public:
  // Of the first of `paths` that can be opened.
  FileArguments(std::shared_ptr<const ElfCfi> table, const std::vector<std::string>& paths);

  // Of the function at `address`, the file's own. NULL: there is none, or it is too large, or too many were
  // asked for.
  const FirstArgument* at(std::uint64_t address);

 private:
  std::vector<std::byte> read(std::uint64_t address, std::uint64_t size) const;

  static constexpr std::uint64_t kMostCode = 1 << 20;               // of one function
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of what is kept
  std::shared_ptr<const ElfCfi> table_;
  UniqueFd file_;
  std::map<std::uint64_t, FirstArgument> functions_;  // by begin
  std::size_t bytes_ = 0;
};

}  // namespace tailor::unwind
