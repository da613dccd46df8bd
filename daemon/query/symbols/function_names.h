// The names of the functions of one file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/query/symbols/elf_functions.h"
#include "proto/base/result.h"

namespace tailor::query {

// A reason why nothing names it.
inline constexpr const char* kNoSymbol = "no symbol of the file reaches here";

struct NamedCode {
  std::string name;         // for people; "": nothing names it
  std::string why = {};     // why nothing names it, else ""
  std::string source = {};  // ElfFunction::source
  std::uint64_t begin = 0;  // of the function: the address that its file has for it; 0 without a name
};

// The functions of one file.
class FunctionNames {
 public:
  // As read_elf_functions().
  static Result<FunctionNames> read(const std::string& path, const RecordedFile& recorded = {},
                                    const std::vector<std::string>& setters = {});

  struct Found {
    const ElfFunction* function = nullptr;  // NULL: none
    std::uint64_t address = 0;              // of the offset, as the file has it
  };
  // The function whose code holds that offset of the file. Sizes of symbols count, so that a function without
  // a name does not get its neighbour's.
  Found find(std::uint64_t file_offset) const;
  NamedCode at(std::uint64_t file_offset) const;
  const ElfFunctions& file() const { return elf_; }

 private:
  ElfFunctions elf_;
};

}  // namespace tailor::query
