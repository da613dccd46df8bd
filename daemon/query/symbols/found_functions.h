// The functions that were found in an ELF file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tailor::query {

struct ElfFunction {
  std::uint64_t begin = 0, end = 0;  // addresses as the file has them
  std::string name;                  // as the linker has it
  std::string source = {};           // where only that source file knows the name, as the compiler had it
};

struct ElfFunctions {
  struct Segment {
    std::uint64_t offset, size, address;  // of a loaded part: in the file, its bytes there, in memory
  };
  std::vector<Segment> segments;
  std::vector<ElfFunction> functions;  // by begin, one for each begin
  std::string build_id;                // in hexadecimal, "" none
  std::string file_id;                 // proto/base/file_id.h; "" unknown, or not asked for
};

}  // namespace tailor::query
