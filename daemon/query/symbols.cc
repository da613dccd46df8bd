#include "daemon/query/symbols.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::query {

Result<FunctionNames> FunctionNames::read(const std::string& path, std::int64_t mapped_ns,
                                          const std::string& build_id,
                                          const std::vector<std::string>& setters) {
  auto elf = read_elf_functions(path, mapped_ns, build_id, kDebugRoot, setters);
  if (!elf) return elf.error();
  FunctionNames out;
  out.elf_ = *std::move(elf);
  return out;
}

std::string FunctionNames::at(std::uint64_t file_offset) const {
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
      if (address < after->end) return readable_name(after->name);
    }
  }
  return {};
}

std::string Symbols::function(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns,
                              const std::string& build_id) {
  const auto [it, added] = files_.try_emplace({path, build_id});
  if (added) {
    if (auto read = FunctionNames::read(path, mapped_ns, build_id, setters_); read.ok())
      it->second = std::make_unique<FunctionNames>(*std::move(read));
  }
  return it->second == nullptr ? std::string() : it->second->at(file_offset);
}

std::string Symbols::name(const std::string& path, std::uint64_t file_offset, std::int64_t mapped_ns) {
  const std::string file = path.substr(path.rfind('/') + 1);
  const std::string found = function(path, file_offset, mapped_ns);
  return found.empty() ? fmt::format("{}+{:#x}", file, file_offset) : fmt::format("{} ({})", found, file);
}

}  // namespace tailor::query
