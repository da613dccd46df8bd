// The names of functions, for reports on the host that has the files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/query/elf_functions.h"
#include "proto/base/result.h"

namespace tailor::query {

// The functions of one file.
class FunctionNames {
 public:
  // As read_elf_functions().
  static Result<FunctionNames> read(const std::string& path, std::int64_t mapped_ns = INT64_MAX,
                                    const std::string& build_id = "",
                                    const std::vector<std::string>& setters = {});

  // The function whose code holds that offset of the file; "" if none is known to. Sizes of symbols count, so
  // that a function without a name does not get its neighbour's.
  std::string at(std::uint64_t file_offset) const;

 private:
  ElfFunctions elf_;
};

// Reads every file once. One thread.
class Symbols {
 public:
  // Functions without a name get one by their `setters` (set_functions.h).
  explicit Symbols(std::vector<std::string> setters = {}) : setters_(std::move(setters)) {}

  // The function at that offset of a file, "" unknown: also where the file is another one than was mapped at
  // `mapped_ns` (CLOCK_REALTIME), or than has that build id ("": any).
  std::string function(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns = INT64_MAX,
                       const std::string& build_id = "");
  // "memcpy (libc.so.6)", else "libc.so.6+0x1a2b".
  std::string name(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns = INT64_MAX);

 private:
  std::vector<std::string> setters_;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<FunctionNames>>
      files_;  // NULL: cannot be read
};

// The functions of a kernel, by address.
class KernelNames {
 public:
  struct Function {
    std::string_view name;    // "" unknown
    std::string_view object;  // "[kernel]", or a module: "[ext4]"
  };
  // From the text of /proc/kallsyms; lines that make no sense, and hidden addresses, are left out.
  static KernelNames parse(std::string_view kallsyms);
  // Of the kernel that runs here, if `kernel` (uname's release) booted at `boot_wall_ns` (CLOCK_REALTIME,
  // give or take seconds) is that one; else none.
  static KernelNames of_recording(const std::string& kernel, std::int64_t boot_wall_ns);

  Function at(std::uint64_t address) const;
  bool empty() const { return symbols_.empty(); }

 private:
  struct Symbol {
    std::uint64_t address;
    std::uint32_t name, object;  // into text_ and objects_
  };
  std::vector<Symbol> symbols_;  // by address
  std::string text_;             // names, each with a 0 behind
  std::vector<std::string> objects_;
};

}  // namespace tailor::query
