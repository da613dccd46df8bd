#include "daemon/query/symbols/go_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "daemon/query/symbols/data_addresses.h"

namespace tailor::query {
namespace {

bool is_code(const ElfFile& file, std::uint64_t address) {
  return std::ranges::any_of(file.sections(), [&](const Elf64_Shdr& section) {
    return (section.sh_flags & SHF_EXECINSTR) != 0 && address >= section.sh_addr &&
           address - section.sh_addr < section.sh_size;
  });
}

// Nothing: there is no such symbol.
std::optional<std::uint64_t> text_symbol(const ElfFile& file) {
  constexpr std::string_view kName = "runtime.text";
  for (const Elf64_Shdr& table : file.sections()) {
    if (table.sh_type != SHT_SYMTAB) continue;
    const std::vector<char> names = file.names_of(table);
    for (const Elf64_Sym& symbol : file.symbols(table)) {
      if (names.size() <= kName.size() || symbol.st_name >= names.size() - kName.size()) continue;
      if (std::string_view(&names[symbol.st_name]) == kName) return symbol.st_value;
    }
    return std::nullopt;
  }
  return std::nullopt;
}

// The field `text` of a runtime.moduledata, the same from Go 1.16 to 1.26: a pointer to the table, slices
// that are its parts, findfunctab, minpc, maxpc, text and etext. 0: it is none of this table.
std::uint64_t text_of_module(const DataAddresses& addresses, std::uint64_t module, const GoTableHead& head) {
  const auto word = [&](unsigned number) { return addresses.at(module + number * head.word_size); };
  enum Word { kTable = 0, kFirstSlice = 1, kFunctions = 16, kFunctionCount = 17, kMinPc = 20, kMaxPc, kText };
  constexpr unsigned kSlice = 3;  // words
  if (word(kTable) != head.address) return 0;
  for (unsigned i = 0; i < head.parts.size(); ++i)
    if (word(kFirstSlice + i * kSlice) != head.address + head.parts[i]) return 0;
  if (word(kFunctions) != head.address + head.parts.back() || word(kFunctionCount) != head.functions + 1)
    return 0;
  const std::uint64_t text = word(kText);
  const bool fits = word(kMinPc) == text + head.first_code && word(kMaxPc) - text <= head.end;
  return fits ? text : 0;
}

}  // namespace

std::uint64_t go_text(const ElfFile& file, const GoTableHead& head) {
  constexpr unsigned kHead = 8, kTextWord = 2;
  const DataAddresses addresses(file, head.word_size);
  const std::uint64_t said = addresses.at(head.address + kHead + kTextWord * head.word_size);
  if (said != 0 && is_code(file, said)) return said;
  if (const auto symbol = text_symbol(file)) return is_code(file, *symbol) ? *symbol : 0;
  for (const std::uint64_t module : addresses.places_of(head.address)) {
    const std::uint64_t text = text_of_module(addresses, module, head);
    if (text != 0 && is_code(file, text)) return text;
  }
  return 0;
}

}  // namespace tailor::query
