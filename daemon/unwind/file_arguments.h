// The first arguments of the functions of one file, each found when it is asked for first.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/unwind/elf_cfi.h"
#include "daemon/unwind/file_work.h"
#include "daemon/unwind/first_argument.h"
#include "proto/base/unique_fd.h"

namespace tailor::unwind {

// Bytes are hostile: anybody may have written the file, and may change it. One thread, but for the work.
class FileArguments {
 public:
  using Paths = std::function<std::vector<std::string>()>;

  // Of the first of `paths` that can be opened; they are asked when a function is looked for first. Its
  // functions are looked for by `work`, which must outlive this, as those of `user`.
  FileArguments(FileWork& work, std::uint32_t user, std::shared_ptr<const ElfCfi> table, Paths paths);
  ~FileArguments();
  FileArguments(const FileArguments&) = delete;
  FileArguments& operator=(const FileArguments&) = delete;

  // Of the function at `address`, the file's own. NULL: there is none, or it is too large, or too many were
  // asked for, or it is not found yet, and `work` knows that the walk lacks it.
  const FirstArgument* at(std::uint64_t address);

 private:
  // What the work has to do with, a piece after the other.
  struct Code {
    std::shared_ptr<const ElfCfi> table;
    Paths paths;
    bool opened = false;
    UniqueFd file;
    std::atomic<std::size_t> bytes = 0;  // of what is kept

    void open();
    std::vector<std::byte> read(std::uint64_t address, std::uint64_t size) const;
    std::optional<FirstArgument> find(const CfiTable::Range& function);
  };
  struct Function {
    std::optional<FirstArgument> argument;  // nothing: the file cannot be read
    std::size_t bytes() const;
  };

  static constexpr std::uint64_t kMostCode = 1 << 20;               // of one function
  static constexpr std::size_t kMostBytes = std::size_t{32} << 20;  // of what is kept
  FileWork& work_;
  const std::uint32_t user_;
  std::shared_ptr<Code> code_;
  std::map<std::uint64_t, std::shared_ptr<Awaited<Function>>> functions_;  // by begin
};

}  // namespace tailor::unwind
