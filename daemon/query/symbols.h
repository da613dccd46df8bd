// The names of functions in ELF files, for reports on the host that has the files.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "proto/base/result.h"

namespace tailor::query {

// The functions of one file: of its symbol table, else of the dynamic one.
class FunctionNames {
 public:
  // Fails for what is no readable 64-bit ELF file. The content is taken for hostile: sizes are checked
  // against the file, and no more than 256 MiB are read of any section. Fails for a file that was changed, or
  // put in its place, after `mapped_ns` (CLOCK_REALTIME).
  static Result<FunctionNames> read(const std::string& path, std::int64_t mapped_ns = INT64_MAX);

  // The function whose code holds that offset of the file; "" if none is known to. Sizes of symbols count, so
  // that a function without a name does not get its neighbour's.
  std::string at(std::uint64_t file_offset) const;

 private:
  struct Segment {
    std::uint64_t offset, size, address;
  };
  struct Function {
    std::uint64_t begin, end;
    std::string name;
  };
  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // by begin
};

// Reads every file once. One thread.
class Symbols {
 public:
  // "memcpy (libc.so.6)", else "libc.so.6+0x1a2b": also where the file is another one than was mapped at
  // `mapped_ns` (CLOCK_REALTIME).
  std::string name(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns = INT64_MAX);

 private:
  std::map<std::string, std::unique_ptr<FunctionNames>> files_;  // NULL: cannot be read
};

}  // namespace tailor::query
