#include "compiler/tagging/gdb_symbols.h"

#include <elf.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

// What gdb looks for, under these names and with this layout. Other compilers in the process (LLVM brings the
// same) share the list.
extern "C" {

struct jit_code_entry {
  jit_code_entry* next_entry;
  jit_code_entry* prev_entry;
  const char* symfile_addr;
  std::uint64_t symfile_size;
};

struct jit_descriptor {
  std::uint32_t version;
  std::uint32_t action_flag;  // 0 nothing, 1 added, 2 about to be removed
  jit_code_entry* relevant_entry;
  jit_code_entry* first_entry;
};

[[gnu::weak, gnu::used]] jit_descriptor __jit_debug_descriptor = {1, 0, nullptr, nullptr};

// gdb has a breakpoint here.
[[gnu::weak, gnu::noinline, gnu::used]] void __jit_debug_register_code() {
  __asm__ volatile("" ::: "memory");
}
}

namespace tailor::tagging {
namespace {

// The descriptor is one for the process.
std::mutex& descriptor_mutex() {
  static std::mutex mutex;
  return mutex;
}

enum SectionIndex { kNull, kText, kFrames, kSymbols, kNames, kSectionNames, kSections };

constexpr std::string_view kSectionNameTable("\0.text\0.eh_frame\0.symtab\0.strtab\0.shstrtab\0", 43);

void align(std::string& file) {
  file.resize((file.size() + 7) / 8 * 8);
}

template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

Elf64_Sym function_symbol(std::string& names, const std::string& name, std::uint64_t offset,
                          std::uint64_t size) {
  Elf64_Sym symbol{};
  symbol.st_name = static_cast<Elf64_Word>(names.size());
  symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
  symbol.st_shndx = kText;
  symbol.st_value = offset;
  symbol.st_size = size;
  names.append(name.c_str(), std::strlen(name.c_str()) + 1);
  return symbol;
}

}  // namespace

std::string symbol_file(const v1::CodeObject& code) {
  std::string names(1, '\0'), symbols;
  put(symbols, Elf64_Sym{});
  for (const v1::CodeSymbol& each : code.symbols())
    put(symbols, function_symbol(names, each.name(), each.offset(), each.size()));
  if (code.symbols().empty()) {
    const std::uint64_t size = code.size() != 0 ? code.size() : code.code().size();
    put(symbols, function_symbol(names, code.name(), 0, size));
  }

  std::string file(sizeof(Elf64_Ehdr), '\0');
  std::array<Elf64_Shdr, kSections> sections{};
  auto place = [&](SectionIndex index, Elf64_Word name, Elf64_Word type, std::string_view content) {
    align(file);
    sections[index].sh_name = name;
    sections[index].sh_type = type;
    sections[index].sh_offset = file.size();
    sections[index].sh_size = content.size();
    sections[index].sh_addralign = 1;
    file += content;
  };
  place(kText, 1, SHT_PROGBITS, code.code());
  sections[kText].sh_flags = SHF_ALLOC | SHF_EXECINSTR;
  sections[kText].sh_addr = code.base();
  place(kFrames, 7, SHT_PROGBITS, code.eh_frame());
  sections[kFrames].sh_flags = SHF_ALLOC;
  sections[kFrames].sh_addr = code.eh_frame_address();
  place(kSymbols, 17, SHT_SYMTAB, symbols);
  sections[kSymbols].sh_link = kNames;
  sections[kSymbols].sh_info = 1;  // the first that is not local
  sections[kSymbols].sh_entsize = sizeof(Elf64_Sym);
  sections[kSymbols].sh_addralign = 8;
  place(kNames, 25, SHT_STRTAB, names);
  place(kSectionNames, 33, SHT_STRTAB, kSectionNameTable);
  align(file);

  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_REL;  // values of symbols count from their section
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = file.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = kSections;
  header.e_shstrndx = kSectionNames;
  std::memcpy(file.data(), &header, sizeof header);
  for (const Elf64_Shdr& section : sections) put(file, section);
  return file;
}

struct GdbSymbols::Entry {
  std::string file;
  jit_code_entry list{};
};

GdbSymbols::GdbSymbols() = default;

GdbSymbols::~GdbSymbols() {
  std::lock_guard descriptor(descriptor_mutex());
  for (const auto& entry : entries_) {
    jit_code_entry& list = entry->list;
    (list.prev_entry != nullptr ? list.prev_entry->next_entry : __jit_debug_descriptor.first_entry) =
        list.next_entry;
    if (list.next_entry != nullptr) list.next_entry->prev_entry = list.prev_entry;
    __jit_debug_descriptor.relevant_entry = &list;
    __jit_debug_descriptor.action_flag = 2;
    __jit_debug_register_code();
  }
  __jit_debug_descriptor.action_flag = 0;
}

void GdbSymbols::add(const v1::CodeObject& code) {
  auto entry = std::make_unique<Entry>();
  entry->file = symbol_file(code);
  entry->list.symfile_addr = entry->file.data();
  entry->list.symfile_size = entry->file.size();
  std::scoped_lock lock(mutex_, descriptor_mutex());
  entry->list.next_entry = __jit_debug_descriptor.first_entry;
  if (entry->list.next_entry != nullptr) entry->list.next_entry->prev_entry = &entry->list;
  __jit_debug_descriptor.first_entry = &entry->list;
  __jit_debug_descriptor.relevant_entry = &entry->list;
  __jit_debug_descriptor.action_flag = 1;
  __jit_debug_register_code();
  __jit_debug_descriptor.action_flag = 0;
  entries_.push_back(std::move(entry));
}

}  // namespace tailor::tagging
