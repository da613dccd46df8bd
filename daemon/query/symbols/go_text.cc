#include "daemon/query/symbols/go_text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace tailor::query {
namespace {

// Bounds of what is looked through: a file may have as many sections and relocations as it likes.
constexpr std::size_t kMostRelocations = std::size_t{1} << 22;
constexpr std::uint64_t kMostData = std::uint64_t{256} << 20;
constexpr std::size_t kMostPlaces = 64;

std::uint32_t relative_type(std::uint16_t machine) {
  switch (machine) {
    case EM_X86_64:
      return R_X86_64_RELATIVE;
    case EM_AARCH64:
      return R_AARCH64_RELATIVE;
    default:
      return UINT32_MAX;
  }
}

bool is_code(const ElfFile& file, std::uint64_t address) {
  return std::ranges::any_of(file.sections(), [&](const Elf64_Shdr& section) {
    return (section.sh_flags & SHF_EXECINSTR) != 0 && address >= section.sh_addr &&
           address - section.sh_addr < section.sh_size;
  });
}

// Addresses in data, as they are before the file is moved: a relocation says them, or the file's bytes.
class Addresses {
 public:
  Addresses(const ElfFile& file, unsigned word_size) : file_(file), word_size_(word_size) {
    for (const Elf64_Shdr& section : file.sections()) add(section);
    std::ranges::sort(moved_);
  }

  std::uint64_t at(std::uint64_t place) const {
    const auto moved = std::ranges::lower_bound(moved_, place, {}, &Moved::first);
    if (moved != moved_.end() && moved->first == place) return moved->second;
    return word(file_.loaded(place, word_size_), 0);
  }
  // Where this address stands.
  std::vector<std::uint64_t> places_of(std::uint64_t address) const {
    std::vector<std::uint64_t> out;
    for (const auto& [place, said] : moved_)
      if (said == address && out.size() < kMostPlaces) out.push_back(place);
    std::uint64_t left = kMostData;
    for (const Elf64_Shdr& section : file_.sections()) {
      const bool data =
          section.sh_type == SHT_PROGBITS &&
          (section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) == (SHF_ALLOC | SHF_WRITE);
      if (!data || section.sh_size > left) continue;
      left -= section.sh_size;
      const auto bytes = file_.read<std::uint8_t>(section.sh_offset, section.sh_size);
      for (std::size_t i = 0; i + word_size_ <= bytes.size() && out.size() < kMostPlaces; i += word_size_)
        if (word(bytes, i) == address) out.push_back(section.sh_addr + i);
    }
    return out;
  }

 private:
  using Moved = std::pair<std::uint64_t, std::uint64_t>;  // place and address

  void add(const Elf64_Shdr& section) {
    const bool loaded = section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) != 0;
    if (!loaded || section.sh_size / sizeof(Elf32_Rela) > left_) return;
    left_ -= section.sh_size / sizeof(Elf32_Rela);
    for (const Elf64_Rela& each : file_.relocations(section))
      if (ELF64_R_TYPE(each.r_info) == relative_type(file_.machine()))
        moved_.emplace_back(each.r_offset, static_cast<std::uint64_t>(each.r_addend));
  }
  std::uint64_t word(const std::vector<std::uint8_t>& bytes, std::size_t at) const {
    std::uint64_t out = 0;
    if (at + word_size_ <= bytes.size()) std::memcpy(&out, bytes.data() + at, word_size_);
    return out;
  }

  const ElfFile& file_;
  unsigned word_size_;
  std::size_t left_ = kMostRelocations;
  std::vector<Moved> moved_;
};

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
std::uint64_t text_of_module(const Addresses& addresses, std::uint64_t module, const GoTableHead& head) {
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
  const Addresses addresses(file, head.word_size);
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
