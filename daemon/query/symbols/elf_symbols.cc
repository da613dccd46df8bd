#include "daemon/query/symbols/elf_symbols.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace tailor::query {
namespace {

// Of a section that holds code, in memory.
struct Extent {
  std::uint64_t begin = 0, end = 0;
};

bool holds_code(const Elf64_Shdr& section) {
  return (section.sh_flags & SHF_ALLOC) != 0 && (section.sh_flags & SHF_EXECINSTR) != 0 &&
         section.sh_addr <= UINT64_MAX - section.sh_size;
}

bool holds(const Elf64_Shdr& section, std::uint64_t address) {
  return address >= section.sh_addr && address - section.sh_addr < section.sh_size;
}

// Assemblers put marks between code and data for some machines, and labels that nobody calls.
bool is_mark(const char* name) {
  const bool mapping = name[0] == '$' && name[1] != '\0' && (name[2] == '\0' || name[2] == '.') &&
                       std::strchr("adtx", name[1]) != nullptr;
  return mapping || std::strncmp(name, ".L", 2) == 0 || std::strncmp(name, "L0\001", 3) == 0;
}

// Whether it names code. Where a file has a table of sections, that says what is code.
bool names_code(const ElfFile& file, const Elf64_Sym& symbol) {
  const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
  const bool function = kind == STT_FUNC || kind == STT_GNU_IFUNC;
  if (symbol.st_shndx == SHN_UNDEF) return false;
  if (function &&
      (symbol.st_shndx >= file.sections().size() || file.sections()[symbol.st_shndx].sh_addr == 0))
    return true;
  if (!function && kind != STT_NOTYPE && kind != STT_OBJECT) return false;
  if (symbol.st_shndx >= file.sections().size()) return false;
  const Elf64_Shdr& section = file.sections()[symbol.st_shndx];
  return (function || holds_code(section)) && holds(section, symbol.st_value);
}

std::vector<Extent> code_sections(const ElfFile& file) {
  std::vector<Extent> out;
  for (const Elf64_Shdr& section : file.sections()) {
    if (holds_code(section) && section.sh_size > 0)
      out.push_back({section.sh_addr, section.sh_addr + section.sh_size});
  }
  std::ranges::sort(out, {}, &Extent::begin);
  return out;
}

// Where the section that holds `address` ends; 0: none does.
std::uint64_t section_end(const std::vector<Extent>& sections, std::uint64_t address) {
  const auto after = std::ranges::upper_bound(sections, address, {}, &Extent::begin);
  if (after == sections.begin() || address >= std::prev(after)->end) return 0;
  return std::prev(after)->end;
}

unsigned underscores(const std::string& name) {
  return static_cast<unsigned>(std::min(name.find_first_not_of('_'), name.size()));
}

}  // namespace

std::string symbol_name(const std::vector<char>& names, std::size_t at) {
  constexpr std::size_t kLongest = 4096;
  return {&names[at], ::strnlen(&names[at], std::min(kLongest, names.size() - at))};
}

// Of two names for one address: the one that says more, in perf's order (tools/perf/util/symbol.c,
// choose_best_symbol).
bool SymbolSet::better(const Candidate& a, const Candidate& b) {
  if (a.sized != b.sized) return a.sized;
  const auto rank = [](unsigned binding) { return binding == STB_WEAK ? 0 : binding == STB_GLOBAL ? 2 : 1; };
  if (rank(a.binding) != rank(b.binding)) return rank(a.binding) > rank(b.binding);
  const unsigned left = underscores(a.function.name), right = underscores(b.function.name);
  if (left != right) return left < right;
  return a.function.name.size() > b.function.name.size();
}

void SymbolSet::add(Candidate candidate) {
  if (full()) return;
  names_ += candidate.function.name.size();
  const auto [at, fresh] = all_.try_emplace(candidate.function.begin, candidate);
  if (!fresh && better(candidate, at->second)) at->second = std::move(candidate);
}

void SymbolSet::add(std::uint64_t begin, std::uint64_t end, std::string name) {
  add({{begin, end, std::move(name), {}}, STB_LOCAL, end > begin, false});
}

void SymbolSet::add_table(const ElfFile& file, std::uint32_t type) {
  const bool thumb =
      file.machine() == EM_ARM;  // the lowest bit of an address says which instructions these are
  for (const Elf64_Shdr& table : file.sections()) {
    if (table.sh_type != type) continue;
    const std::vector<char> names = file.names_of(table);
    if (names.empty()) continue;
    std::string source;
    for (const Elf64_Sym& symbol : file.symbols(table)) {
      if (symbol.st_name >= names.size()) continue;
      const unsigned kind = ELF64_ST_TYPE(symbol.st_info), binding = ELF64_ST_BIND(symbol.st_info);
      if (kind == STT_FILE) source = symbol_name(names, symbol.st_name);
      const char* const name = &names[symbol.st_name];
      if (name[0] == '\0' || is_mark(name) || !names_code(file, symbol)) continue;
      const std::uint64_t begin = thumb ? symbol.st_value & ~std::uint64_t{1} : symbol.st_value;
      if (begin + symbol.st_size < begin) continue;
      if (full()) return;
      const bool local = binding == STB_LOCAL;
      add({{begin, begin + symbol.st_size, symbol_name(names, symbol.st_name),
            local ? source : std::string()},
           binding,
           symbol.st_size != 0,
           local && kind == STT_NOTYPE && symbol.st_size == 0});
    }
    return;
  }
}

std::vector<ElfFunction> SymbolSet::take(const ElfFile& file) {
  constexpr std::uint64_t kMostOfTheLast = 4096;  // where no table of sections says where code ends
  const std::vector<Extent> sections = code_sections(file);
  // A label within a function is a place to jump to, and no function.
  std::uint64_t inside_until = 0;
  std::erase_if(all_, [&](const auto& each) {
    const Candidate& candidate = each.second;
    if (candidate.label && each.first < inside_until) return true;
    if (candidate.sized) inside_until = std::max(inside_until, candidate.function.end);
    return false;
  });
  std::vector<ElfFunction> out;
  out.reserve(all_.size());
  for (auto at = all_.begin(); at != all_.end(); ++at) {
    ElfFunction& function = out.emplace_back(std::move(at->second.function));
    const std::uint64_t section = section_end(sections, function.begin);
    if (!at->second.sized) {
      const auto next = std::next(at);
      function.end = section != 0 ? section : function.begin + std::min(kMostOfTheLast, ~function.begin);
      if (next != all_.end()) function.end = std::min(function.end, next->first);
    }
    if (section != 0) function.end = std::min(function.end, section);
  }
  all_.clear();
  names_ = 0;
  return out;
}

}  // namespace tailor::query
