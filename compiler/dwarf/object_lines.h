// Lineage for engines that generate code through a compiler which writes DWARF (gcc, clang, libgccjit): the
// engine numbers the lines of the source it generates by component, the compiler carries them into the line
// table (DWARF 5, section 6.2), and this reads them back.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compiler/tagging/row_table_builder.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::dwarf {

// From `address` on, until the next row of its sequence, code descends from `line` of `file`.
struct LineRow {
  std::uint64_t address = 0;
  std::uint32_t line = 0;  // 0: the compiler knows none
  std::uint32_t file = 0;  // index into ObjectLines::files
  bool end = false;        // of a sequence: belongs to nothing
};

struct FunctionRange {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::vector<std::uint8_t> code;
};

// Addresses are those of the object: of a relocatable one as libdwfl lays out its sections one behind the
// other, of a shared one relative to its load address.
struct ObjectLines {
  std::vector<std::string> files;
  std::vector<LineRow> rows;             // ascending by address
  std::vector<FunctionRange> functions;  // ascending by address; without those of size 0
};

// Reads an ELF object: relocatable (the relocations of its debug sections are applied), shared or executable.
// Errors: no such file, no ELF, no DWARF line table. The file is only read.
Result<ObjectLines> read_object_lines(const std::string& path);

// What the components of a line are; several make the row shared, none leaves it unmapped.
using LineOwners = std::function<std::vector<ComponentId>(const std::string& file, std::uint32_t line)>;

// The code object of one function that lies at `loaded_at` now. Ids, plan, tier and attachments are the
// caller's to fill. Rows before the first line of the function are prologue.
v1::CodeObject make_code_object(const ObjectLines& object, const FunctionRange& function,
                                std::uint64_t loaded_at, const LineOwners& owners);

}  // namespace tailor::dwarf
