#include "daemon/query/elf_functions.h"

#include <elf.h>
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "daemon/query/elf_file.h"
#include "daemon/query/set_functions.h"

namespace tailor::query {
namespace {

// One of several at an address.
struct Candidate {
  ElfFunction function;
  unsigned binding = STB_LOCAL;
  bool sized = false;
};

// What is kept of one file: a table of symbols can name the same text as often as it likes.
struct Kept {
  static constexpr std::size_t kMostFunctions = std::size_t{1} << 21;
  static constexpr std::size_t kMostNames = std::size_t{256} << 20;  // bytes
  std::map<std::uint64_t, Candidate> functions;
  std::size_t names = 0;

  bool full() const { return functions.size() >= kMostFunctions || names >= kMostNames; }
};

// A longer one is cut.
std::string name_at(const std::vector<char>& names, std::size_t at) {
  constexpr std::size_t kLongest = 4096;
  return {&names[at], ::strnlen(&names[at], std::min(kLongest, names.size() - at))};
}

struct Sections {
  std::vector<Elf64_Shdr> all;
  std::vector<char> names;

  std::string_view name(const Elf64_Shdr& section) const {
    if (section.sh_name >= names.size()) return {};
    constexpr std::size_t kLongest = 64;  // of those that are looked for
    return {&names[section.sh_name],
            ::strnlen(&names[section.sh_name], std::min(kLongest, names.size() - section.sh_name))};
  }
  const Elf64_Shdr* named(std::string_view wanted) const {
    for (const Elf64_Shdr& section : all) {
      if (name(section) == wanted) return &section;
    }
    return nullptr;
  }
  bool has(std::uint32_t type) const {
    return std::ranges::any_of(all, [type](const Elf64_Shdr& section) { return section.sh_type == type; });
  }
};

Sections sections_of(const ElfFile& file) {
  Sections out;
  out.all = file.read<Elf64_Shdr>(file.header().e_shoff, file.header().e_shnum);
  if (file.header().e_shstrndx < out.all.size()) {
    const Elf64_Shdr& text = out.all[file.header().e_shstrndx];
    out.names = file.read<char>(text.sh_offset, text.sh_size);
  }
  return out;
}

unsigned underscores(const std::string& name) {
  return static_cast<unsigned>(std::min(name.find_first_not_of('_'), name.size()));
}

// Of two names for one address: the one that says more, in perf's order (tools/perf/util/symbol.c,
// choose_best_symbol).
bool better(const Candidate& a, const Candidate& b) {
  if (a.sized != b.sized) return a.sized;
  const auto rank = [](unsigned binding) { return binding == STB_WEAK ? 0 : binding == STB_GLOBAL ? 2 : 1; };
  if (rank(a.binding) != rank(b.binding)) return rank(a.binding) > rank(b.binding);
  const unsigned left = underscores(a.function.name), right = underscores(b.function.name);
  if (left != right) return left < right;
  return a.function.name.size() > b.function.name.size();
}

void add(Kept& to, Candidate candidate) {
  to.names += candidate.function.name.size();
  const auto [at, fresh] = to.functions.try_emplace(candidate.function.begin, candidate);
  if (!fresh && better(candidate, at->second)) at->second = std::move(candidate);
}

// The first table of that type whose names can be read: a file has one.

void add_symbols(const ElfFile& file, const Sections& sections, std::uint32_t type, Kept& out) {
  for (const Elf64_Shdr& table : sections.all) {
    if (table.sh_type != type || table.sh_link >= sections.all.size()) continue;
    const Elf64_Shdr& text = sections.all[table.sh_link];
    std::vector<char> names = file.read<char>(text.sh_offset, text.sh_size);
    if (names.empty()) continue;
    names.back() = '\0';
    for (const Elf64_Sym& symbol : file.read<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym))) {
      const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
      if (kind != STT_FUNC && kind != STT_GNU_IFUNC) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_name >= names.size() || names[symbol.st_name] == '\0')
        continue;
      if (symbol.st_value + symbol.st_size < symbol.st_value) continue;
      if (out.full()) return;
      add(out, {{symbol.st_value, symbol.st_value + symbol.st_size, name_at(names, symbol.st_name)},
                static_cast<unsigned>(ELF64_ST_BIND(symbol.st_info)),
                symbol.st_size != 0});
    }
    return;
  }
}

// Names of the functions that slots of the linkage table lead to, in their order.
std::vector<std::string> linked_names(const ElfFile& file, const Sections& sections) {
  constexpr std::size_t kMostSlots = std::size_t{1} << 18;
  std::vector<std::string> out;
  std::size_t bytes = 0;
  const Elf64_Shdr* relocations = sections.named(".rela.plt");
  if (relocations == nullptr || relocations->sh_link >= sections.all.size()) return out;
  const Elf64_Shdr& table = sections.all[relocations->sh_link];
  if (table.sh_link >= sections.all.size()) return out;
  const Elf64_Shdr& text = sections.all[table.sh_link];
  const auto symbols = file.read<Elf64_Sym>(table.sh_offset, table.sh_size / sizeof(Elf64_Sym));
  std::vector<char> names = file.read<char>(text.sh_offset, text.sh_size);
  if (names.empty()) return out;
  names.back() = '\0';
  for (const Elf64_Rela& each :
       file.read<Elf64_Rela>(relocations->sh_offset, relocations->sh_size / sizeof(Elf64_Rela))) {
    const std::uint64_t symbol = ELF64_R_SYM(each.r_info);
    const bool named = symbol < symbols.size() && symbols[symbol].st_name < names.size();
    out.emplace_back(named ? name_at(names, symbols[symbol].st_name) : "");
    bytes += out.back().size();
    if (out.size() >= kMostSlots || bytes >= Kept::kMostNames) break;
  }
  return out;
}

// x86-64: slots of 16 bytes; .plt has one more in front, unless .plt.sec takes the calls.
void add_linkage(const ElfFile& file, const Sections& sections, Kept& out) {
  constexpr std::uint64_t kSlot = 16;
  const std::vector<std::string> names = linked_names(file, sections);
  for (const char* name : {".plt", ".plt.sec"}) {
    const Elf64_Shdr* section = sections.named(name);
    if (section == nullptr) continue;
    const std::uint64_t first = section->sh_addr + (std::string_view(name) == ".plt" ? kSlot : 0);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::uint64_t begin = first + i * kSlot;
      if (begin < section->sh_addr || begin - section->sh_addr >= section->sh_size) break;
      if (!names[i].empty() && !out.full())
        add(out, {{begin, begin + kSlot, names[i] + "@plt"}, STB_LOCAL, true});
    }
  }
}

std::string build_id_of(const ElfFile& file, const Sections& sections) {
  const Elf64_Shdr* section = sections.named(".note.gnu.build-id");
  if (section == nullptr) return {};
  const auto bytes =
      file.read<std::uint8_t>(section->sh_offset, std::min<std::uint64_t>(section->sh_size, 4096));
  Elf64_Nhdr note{};
  if (bytes.size() < sizeof note) return {};
  std::memcpy(&note, bytes.data(), sizeof note);
  const std::size_t at = sizeof note + ((std::size_t{note.n_namesz} + 3) & ~std::size_t{3});
  if (note.n_type != NT_GNU_BUILD_ID || at > bytes.size() || note.n_descsz > bytes.size() - at) return {};
  std::string out;
  for (std::size_t i = 0; i < note.n_descsz; ++i) out += fmt::format("{:02x}", bytes[at + i]);
  return out;
}

struct DebugLink {
  std::string name;
  std::uint32_t checksum = 0;
};

std::optional<DebugLink> debug_link_of(const ElfFile& file, const Sections& sections) {
  const Elf64_Shdr* section = sections.named(".gnu_debuglink");
  if (section == nullptr || section->sh_size < 8) return std::nullopt;
  const auto bytes = file.read<char>(section->sh_offset, std::min<std::uint64_t>(section->sh_size, 4096));
  const std::size_t length = ::strnlen(bytes.data(), bytes.size());
  const std::size_t at = (length + 4) & ~std::size_t{3};
  if (length == 0 || at + 4 > bytes.size()) return std::nullopt;
  DebugLink link{{bytes.data(), length}, 0};
  if (link.name.find('/') != std::string::npos) return std::nullopt;
  std::memcpy(&link.checksum, &bytes[at], sizeof link.checksum);
  return link;
}

// The file that has what was stripped from `path`.
std::optional<ElfFile> find_debug_file(const std::string& path, const std::string& build_id,
                                       const std::optional<DebugLink>& link, const std::string& root) {
  if (build_id.size() > 2) {
    auto found = ElfFile::open(
        fmt::format("{}/.build-id/{}/{}.debug", root, build_id.substr(0, 2), build_id.substr(2)));
    if (found.ok() && build_id_of(*found, sections_of(*found)) == build_id) return std::move(*found);
  }
  if (!link) return std::nullopt;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const std::string& place : {folder, folder + ".debug/", root + folder}) {
    if (place + link->name == path) continue;
    auto found = ElfFile::open(place + link->name);
    if (found.ok() && found->checksum() == link->checksum) return std::move(*found);
  }
  return std::nullopt;
}

// One without a size ends where the next begins.
std::vector<ElfFunction> in_order(std::map<std::uint64_t, Candidate>&& all) {
  constexpr std::uint64_t kMostOfTheLast = 4096;
  std::vector<ElfFunction> out;
  out.reserve(all.size());
  for (auto at = all.begin(); at != all.end(); ++at) {
    ElfFunction& function = out.emplace_back(std::move(at->second.function));
    if (at->second.sized) continue;
    const auto next = std::next(at);
    const std::uint64_t most = function.begin + kMostOfTheLast;
    function.end = next == all.end() ? most : std::min(most, next->first);
  }
  return out;
}

}  // namespace

Result<ElfFunctions> read_elf_functions(const std::string& path, std::int64_t mapped_ns,
                                        const std::string& build_id, const std::string& debug_root,
                                        const std::vector<std::string>& setters) {
  auto file = ElfFile::open(path);
  if (!file) return file.error();
  const Sections sections = sections_of(*file);
  ElfFunctions out;
  out.build_id = build_id_of(*file, sections);
  if (!build_id.empty() && out.build_id != build_id)
    return unavailable(path + " is another build than was recorded");
  if (build_id.empty() && file->changed_ns() > mapped_ns)
    return unavailable(path + " was changed since it was mapped");
  for (const Elf64_Phdr& part : file->read<Elf64_Phdr>(file->header().e_phoff, file->header().e_phnum)) {
    if (part.p_type == PT_LOAD) out.segments.push_back({part.p_offset, part.p_filesz, part.p_vaddr});
  }
  Kept functions;
  add_symbols(*file, sections, SHT_SYMTAB, functions);
  add_symbols(*file, sections, SHT_DYNSYM, functions);
  if (!sections.has(SHT_SYMTAB)) {
    const auto debug = find_debug_file(path, out.build_id, debug_link_of(*file, sections), debug_root);
    if (debug) add_symbols(*debug, sections_of(*debug), SHT_SYMTAB, functions);
  }
  add_linkage(*file, sections, functions);
  out.functions = in_order(std::move(functions.functions));
  name_set_functions(*file, setters, out);
  return out;
}

}  // namespace tailor::query
