// Makes small ELF files, for what reads them.
#pragma once

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace tailor::query {

struct ImageSection {
  std::string name;
  std::uint32_t type = SHT_PROGBITS;
  std::uint64_t flags = 0, address = 0;
  std::string content;
  std::uint32_t link = 0;  // of a section, by its place: the first that is added is 1
};

struct ImageSymbol {
  std::string name;
  unsigned binding = STB_GLOBAL, type = STT_FUNC;
  std::uint16_t section = 1;
  std::uint64_t value = 0, size = 0;
};

// Of 64 bits, else of 32; little-endian. One loaded part for each section that is loaded.
template <bool kWide>
class ElfImage {
 public:
  using Header = std::conditional_t<kWide, Elf64_Ehdr, Elf32_Ehdr>;
  using Part = std::conditional_t<kWide, Elf64_Phdr, Elf32_Phdr>;
  using Section = std::conditional_t<kWide, Elf64_Shdr, Elf32_Shdr>;
  using Symbol = std::conditional_t<kWide, Elf64_Sym, Elf32_Sym>;

  std::uint16_t machine = kWide ? EM_X86_64 : EM_386;

  ElfImage& add(ImageSection section) {
    sections_.push_back(std::move(section));
    return *this;
  }
  ElfImage& code(const std::string& name, std::uint64_t address, std::string content) {
    return add({name, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, address, std::move(content), 0});
  }
  // And the section of their names, behind it.
  ElfImage& symbols(std::uint32_t type, const std::vector<ImageSymbol>& all) {
    std::string names(1, '\0'), table(sizeof(Symbol), '\0');
    for (const ImageSymbol& each : all) {
      Symbol symbol{};
      symbol.st_name = static_cast<std::uint32_t>(names.size());
      symbol.st_info = static_cast<unsigned char>(each.binding << 4 | each.type);
      symbol.st_shndx = each.section;
      symbol.st_value = static_cast<decltype(symbol.st_value)>(each.value);
      symbol.st_size = static_cast<decltype(symbol.st_size)>(each.size);
      names.append(each.name).push_back('\0');
      append(table, symbol);
    }
    const auto link = static_cast<std::uint32_t>(sections_.size() + 2);
    add({type == SHT_DYNSYM ? ".dynsym" : ".symtab", type, 0, 0, table, link});
    return add({type == SHT_DYNSYM ? ".dynstr" : ".strtab", SHT_STRTAB, 0, 0, names, 0});
  }
  ElfImage& build_id(const std::string& bytes) {
    std::string note;
    append(note, Elf64_Nhdr{4, static_cast<std::uint32_t>(bytes.size()), NT_GNU_BUILD_ID});
    note.append("GNU\0", 4).append(bytes);
    return add({".note.gnu.build-id", SHT_NOTE, SHF_ALLOC, 0x200, note, 0});
  }
  std::uint32_t count() const { return static_cast<std::uint32_t>(sections_.size()); }

  std::string bytes() const {
    std::string names(1, '\0'), body;
    std::vector<Section> table(1);
    std::vector<Part> parts;
    const std::size_t loaded = static_cast<std::size_t>(
        std::count_if(sections_.begin(), sections_.end(), [](const auto& s) { return s.flags != 0; }));
    const std::size_t start = sizeof(Header) + loaded * sizeof(Part);
    std::vector<ImageSection> all = sections_;
    all.push_back({".shstrtab", SHT_STRTAB, 0, 0, "", 0});
    for (ImageSection& each : all) {
      Section section{};
      section.sh_name = static_cast<std::uint32_t>(names.size());
      names.append(each.name).push_back('\0');
      if (each.name == ".shstrtab") each.content = names;
      while ((start + body.size()) % 8 != 0) body.push_back('\0');
      section.sh_type = each.type;
      section.sh_flags = static_cast<decltype(section.sh_flags)>(each.flags);
      section.sh_addr = static_cast<decltype(section.sh_addr)>(each.address);
      section.sh_offset = static_cast<decltype(section.sh_offset)>(start + body.size());
      section.sh_size = static_cast<decltype(section.sh_size)>(each.content.size());
      section.sh_link = each.link;
      table.push_back(section);
      if (each.flags != 0) {
        Part part{};
        part.p_type = each.type == SHT_NOTE ? PT_NOTE : PT_LOAD;
        part.p_offset = section.sh_offset;
        part.p_vaddr = section.sh_addr;
        part.p_filesz = part.p_memsz = section.sh_size;
        parts.push_back(part);
      }
      body += each.content;
    }
    Header header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = kWide ? ELFCLASS64 : ELFCLASS32;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = machine;
    header.e_type = ET_DYN;
    header.e_phoff = sizeof(Header);
    header.e_phnum = static_cast<std::uint16_t>(parts.size());
    header.e_shoff = static_cast<decltype(header.e_shoff)>(start + body.size());
    header.e_shnum = static_cast<std::uint16_t>(table.size());
    header.e_shstrndx = static_cast<std::uint16_t>(table.size() - 1);
    std::string out;
    append(out, header);
    for (const Part& part : parts) append(out, part);
    out += body;
    for (const Section& section : table) append(out, section);
    return out;
  }

  template <typename T>
  static void append(std::string& to, const T& what) {
    to.append(reinterpret_cast<const char*>(&what), sizeof what);
  }

 private:
  std::vector<ImageSection> sections_;
};

inline void write_image(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace tailor::query
