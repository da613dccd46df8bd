#include "daemon/query/symbols/function_names.h"

#include <algorithm>
#include <utility>

#include "daemon/query/symbols/readable_name.h"

namespace tailor::query {

Result<FunctionNames> FunctionNames::read(const std::string& path, const RecordedFile& recorded,
                                          const std::vector<std::string>& setters) {
  auto elf = read_elf_functions(path, recorded, kDebugRoot, setters);
  if (!elf) return elf.error();
  FunctionNames out;
  out.elf_ = *std::move(elf);
  return out;
}

FunctionNames::Found FunctionNames::find(std::uint64_t file_offset) const {
  const std::vector<ElfFunction>& functions = elf_.functions;
  for (const ElfFunctions::Segment& segment : elf_.segments) {
    if (file_offset < segment.offset || file_offset - segment.offset >= segment.size) continue;
    const std::uint64_t address = segment.address + (file_offset - segment.offset);
    auto after =
        std::upper_bound(functions.begin(), functions.end(), address,
                         [](std::uint64_t a, const ElfFunction& function) { return a < function.begin; });
    // A function may lie within another (an entry of an assembler routine); the innermost that reaches is
    // near.
    for (int tries = 0; tries < 8 && after != functions.begin(); ++tries) {
      --after;
      if (address < after->end) return {&*after, address};
    }
  }
  return {};
}

NamedCode FunctionNames::at(std::uint64_t file_offset) const {
  const ElfFunction* function = find(file_offset).function;
  if (function != nullptr) return {readable_name(function->name), "", function->source, function->begin};
  return {"", elf_.functions.empty() ? "the file has no names of functions" : kNoSymbol};
}

}  // namespace tailor::query
