#include "daemon/query/symbols/elf_linkage.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kMostSlots = std::size_t{1} << 18;
constexpr std::size_t kMostNames = std::size_t{64} << 20;  // bytes
constexpr std::uint64_t kMostOfATable = std::uint64_t{16} << 20;
constexpr std::uint64_t kLongestEntry = 64;  // bytes

// The slots that code jumps through, by their addresses.
struct Slots {
  std::unordered_map<std::uint64_t, std::string> names;  // of the functions that they lead to; "" none
  std::vector<std::uint64_t> in_order;                   // of the table that lazy entries give numbers of
  std::size_t name_bytes = 0;
};

bool is_of_a_slot(std::uint64_t type) {
  // The numbers are the same on both.
  static_assert(R_386_JMP_SLOT == R_X86_64_JUMP_SLOT && R_386_GLOB_DAT == R_X86_64_GLOB_DAT);
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}

// The slot of a function of the file itself, which the loader asks for its address: it has no symbol.
bool is_of_an_own_slot(const ElfFile& file, std::uint64_t type) {
  const std::uint64_t own = file.machine() == EM_386 ? R_386_IRELATIVE : R_X86_64_IRELATIVE;
  return type == own;
}

void read_slots(const ElfFile& file, const Elf64_Shdr& table, Slots& to) {
  if (table.sh_link >= file.sections().size()) return;
  const Elf64_Shdr& symbols_at = file.sections()[table.sh_link];
  if (symbols_at.sh_type != SHT_DYNSYM) return;
  const auto symbols = file.symbols(symbols_at);
  const std::vector<char> names = file.names_of(symbols_at);
  const bool lazy = file.name_of(table) == ".rela.plt" || file.name_of(table) == ".rel.plt";
  for (const Elf64_Rela& each : file.relocations(table)) {
    if (to.names.size() >= kMostSlots || to.in_order.size() >= kMostSlots || to.name_bytes >= kMostNames)
      return;
    const std::uint64_t symbol = ELF64_R_SYM(each.r_info);
    std::string name;
    if (is_of_a_slot(ELF64_R_TYPE(each.r_info)) && symbol != 0 && symbol < symbols.size() &&
        symbols[symbol].st_name < names.size())
      name = symbol_name(names, symbols[symbol].st_name);
    to.name_bytes += name.size();
    if (lazy) to.in_order.push_back(each.r_offset);
    const bool known = !name.empty() || is_of_an_own_slot(file, ELF64_R_TYPE(each.r_info));
    if (known) to.names.try_emplace(each.r_offset, std::move(name));
  }
}

// Of the instructions of one table.
class Entries {
 public:
  Entries(const ElfFile& file, const Slots& slots) : slots_(slots), small_(file.has_32_bits()) {
    // x32 has pointers of 32 bits and instructions of 64.
    long_ = file.machine() == EM_X86_64;
    ZydisDecoderInit(&decoder_, long_ ? ZYDIS_MACHINE_MODE_LONG_64 : ZYDIS_MACHINE_MODE_LEGACY_32,
                     long_ ? ZYDIS_STACK_WIDTH_64 : ZYDIS_STACK_WIDTH_32);
    const Elf64_Shdr* got = file.section(".got.plt");
    if (got == nullptr) got = file.section(".got");
    if (got != nullptr) got_ = got->sh_addr;
  }

  void read(const Elf64_Shdr& section, const std::vector<std::uint8_t>& code, SymbolSet& to) {
    std::vector<Entry> entries;
    std::uint64_t begin = 0;  // of what may be the next entry
    bool open = false;        // instructions since `begin` only prepare a jump
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    for (std::size_t at = 0; at < code.size();) {
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder_, &code[at], code.size() - at, &instruction,
                                               operands.data()))) {
        ++at;
        open = false;
        continue;
      }
      if (!open) begin = at;
      const std::uint64_t next = section.sh_addr + at + instruction.length;
      const std::optional<std::uint64_t> slot = target(instruction, operands, next);
      // Two entries may lead to functions of one name: those of two versions.
      const bool again = !entries.empty() && at - entries.back().begin < kLongestEntry &&
                         slot == entries.back().slot && !open;
      if (slot && !again) entries.push_back({begin, *slot});
      open = !slot && prepares(instruction);
      at += instruction.length;
    }
    const std::uint64_t length = length_of(entries);
    for (const Entry& entry : entries) {
      const std::string& name = slots_.names.at(entry.slot);
      if (name.empty()) continue;
      const std::uint64_t end = std::min<std::uint64_t>(code.size(), entry.begin + length);
      to.add(section.sh_addr + entry.begin, section.sh_addr + end, name + "@plt");
    }
  }

 private:
  struct Entry {
    std::uint64_t begin;  // in the table
    std::uint64_t slot;
  };

  // A table has entries of one length. Between two that are known there may be one that is not.
  static std::uint64_t length_of(const std::vector<Entry>& entries) {
    constexpr std::uint64_t kUsual = 16;
    std::uint64_t length = entries.size() < 2 ? kUsual : kLongestEntry;
    for (std::size_t i = 1; i < entries.size(); ++i)
      length = std::min(length, entries[i].begin - entries[i - 1].begin);
    return length;
  }

  static bool prepares(const ZydisDecodedInstruction& instruction) {
    return instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR64 || instruction.mnemonic == ZYDIS_MNEMONIC_ENDBR32 ||
           instruction.mnemonic == ZYDIS_MNEMONIC_MOV;
  }

  // The slot that it reads, or whose number it pushes for the loader, if it is one.
  std::optional<std::uint64_t> target(const ZydisDecodedInstruction& instruction,
                                      std::span<const ZydisDecodedOperand> operands,
                                      std::uint64_t next) const {
    const ZydisDecodedOperand* from = nullptr;
    if (instruction.mnemonic == ZYDIS_MNEMONIC_JMP || instruction.mnemonic == ZYDIS_MNEMONIC_CALL)
      from = &operands[0];
    if (instruction.mnemonic == ZYDIS_MNEMONIC_MOV) from = &operands[1];
    if (instruction.mnemonic == ZYDIS_MNEMONIC_PUSH) return pushed(operands[0]);
    if (from == nullptr || from->type != ZYDIS_OPERAND_TYPE_MEMORY) return std::nullopt;
    if (from->mem.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    auto address = static_cast<std::uint64_t>(from->mem.disp.value);
    if (from->mem.base == ZYDIS_REGISTER_RIP) {
      address += next;
    } else if (from->mem.base == ZYDIS_REGISTER_EBX && !long_ && got_ != 0) {
      address += got_;
    } else if (from->mem.base != ZYDIS_REGISTER_NONE) {
      return std::nullopt;
    }
    if (!long_) address &= UINT32_MAX;
    return if_slot(address);
  }

  std::optional<std::uint64_t> pushed(const ZydisDecodedOperand& operand) const {
    if (operand.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return std::nullopt;
    // 32-bit entries push the place in the table of relocations, of 8 bytes each.
    const std::uint64_t number =
        small_ && !long_ ? operand.imm.value.u / sizeof(Elf32_Rel) : operand.imm.value.u;
    return number < slots_.in_order.size() ? if_slot(slots_.in_order[number]) : std::nullopt;
  }

  std::optional<std::uint64_t> if_slot(std::uint64_t slot) const {
    return slots_.names.contains(slot) ? std::optional(slot) : std::nullopt;
  }

  const Slots& slots_;
  bool small_, long_ = true;
  std::uint64_t got_ = 0;
  ZydisDecoder decoder_;
};

}  // namespace

void add_linkage(const ElfFile& file, SymbolSet& to) {
  if (file.machine() != EM_X86_64 && file.machine() != EM_386) return;
  Slots slots;
  for (const Elf64_Shdr& section : file.sections()) {
    if (section.sh_type == SHT_RELA || section.sh_type == SHT_REL) read_slots(file, section, slots);
  }
  if (slots.names.empty()) return;
  Entries entries(file, slots);
  for (const Elf64_Shdr& section : file.sections()) {
    const std::string_view name = file.name_of(section);
    const bool table = name.starts_with(".plt") || name.starts_with(".iplt");
    if (!table || section.sh_type != SHT_PROGBITS || (section.sh_flags & SHF_EXECINSTR) == 0) continue;
    entries.read(section,
                 file.read<std::uint8_t>(section.sh_offset, std::min(section.sh_size, kMostOfATable)), to);
  }
}

}  // namespace tailor::query
