#include "daemon/query/symbols/set_functions.h"

#include <Zydis/Zydis.h>
#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "daemon/query/symbols/data_addresses.h"
#include "daemon/query/symbols/name_pattern.h"
#include "daemon/query/symbols/readable_name.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMostFunctions = std::size_t{1} << 20;  // of an unwind table
constexpr std::size_t kMostFound = 10'000;
constexpr unsigned kWord = 8;
constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;   // of code that is read
constexpr std::uint64_t kMostOfOne = std::uint64_t{256} << 10;  // of one function

struct Range {
  std::uint64_t begin = 0, end = 0;
};

// Where functions begin, in order. Only the encodings that linkers write: a table of pairs of offsets from
// its own address, with 32 bits.
std::vector<std::uint64_t> function_begins(const ElfFile& file) {
  constexpr std::uint8_t kOffsets = 0x3B, kCount = 0x03;  // DW_EH_PE_datarel | sdata4, udata4
  constexpr std::size_t kHeader = 12;
  for (const Elf64_Phdr& part : file.parts()) {
    if (part.p_type != PT_GNU_EH_FRAME) continue;
    const auto head = file.read<std::uint8_t>(part.p_offset, kHeader);
    if (head.size() < kHeader || head[0] != 1 || head[2] != kCount || head[3] != kOffsets) return {};
    std::uint32_t count = 0;
    std::memcpy(&count, &head[8], sizeof count);
    if (count > kMostFunctions) return {};
    std::vector<std::uint64_t> out;
    for (const auto& pair : file.read<std::array<std::int32_t, 2>>(part.p_offset + kHeader, count))
      out.push_back(part.p_vaddr + static_cast<std::uint64_t>(std::int64_t{pair[0]}));
    std::ranges::sort(out);
    return out;
  }
  return {};
}

// The address that the instruction at `address` forms or jumps to, if it is such a one. `fixed`: the program
// is loaded where it was linked.
std::optional<std::uint64_t> target_of(const ZydisDecodedInstruction& instruction,
                                       std::span<const ZydisDecodedOperand> operands, std::uint64_t address,
                                       bool fixed) {
  const std::uint64_t next = address + instruction.length;
  const auto category = instruction.meta.category;
  if (category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR) {
    const ZydisDecodedOperand& to = operands[0];
    if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative) return std::nullopt;
    return next + static_cast<std::uint64_t>(to.imm.value.s);
  }
  const ZydisDecodedOperand& from = operands[1];
  if (instruction.mnemonic == ZYDIS_MNEMONIC_LEA) {
    if (from.mem.base != ZYDIS_REGISTER_RIP || from.mem.index != ZYDIS_REGISTER_NONE) return std::nullopt;
    return next + static_cast<std::uint64_t>(from.mem.disp.value);
  }
  if (fixed && instruction.mnemonic == ZYDIS_MNEMONIC_MOV && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    return from.imm.value.u;
  return std::nullopt;
}

// Constants that an instruction loads into a vector register: compilers keep addresses there that an object
// gets two at a time. Nothing: it loads none.
std::optional<Range> constants_of(const ZydisDecodedInstruction& instruction,
                                  std::span<const ZydisDecodedOperand> operands, std::uint64_t address) {
  const ZydisDecodedOperand& to = operands[0];
  const ZydisDecodedOperand& from = operands[1];
  const bool vector =
      to.type == ZYDIS_OPERAND_TYPE_REGISTER && (ZydisRegisterGetClass(to.reg.value) == ZYDIS_REGCLASS_XMM ||
                                                 ZydisRegisterGetClass(to.reg.value) == ZYDIS_REGCLASS_YMM ||
                                                 ZydisRegisterGetClass(to.reg.value) == ZYDIS_REGCLASS_ZMM);
  if (!vector || from.type != ZYDIS_OPERAND_TYPE_MEMORY || from.mem.base != ZYDIS_REGISTER_RIP)
    return std::nullopt;
  const std::uint64_t begin = address + instruction.length + static_cast<std::uint64_t>(from.mem.disp.value);
  return Range{begin, begin + from.size / 8};
}

class Search {
 public:
  Search(const ElfFile& file, ElfFunctions& elf)
      : file_(file),
        elf_(elf),
        fixed_(file.type() == ET_EXEC),
        begins_(function_begins(file)),
        data_(file, kWord) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    for (const ElfFunction& function : elf.functions) named_.insert(function.begin);
  }

  bool has_table() const { return !begins_.empty(); }

  void look_into(const ElfFunction& setter) {
    std::vector<std::uint64_t> next = {setter.begin};
    std::set<std::uint64_t> seen;
    while (!next.empty() && found_.size() < kMostFound) {
      const std::uint64_t begin = next.back();
      next.pop_back();
      for (const std::uint64_t target : targets_in(begin)) {
        if (named_.contains(target) || !seen.insert(target).second) continue;
        found_[target].insert(setter.name);
        next.push_back(target);
      }
    }
  }

  void add_found() {
    for (const auto& [begin, setters] : found_) {
      if (setters.size() == 1)
        elf_.functions.push_back({begin, range_of(begin).end, set_by(*setters.begin()), {}});
    }
    std::ranges::sort(elf_.functions, {}, &ElfFunction::begin);
  }

 private:
  // Up to where the next function begins.
  Range range_of(std::uint64_t begin) const {
    const auto next = std::ranges::upper_bound(begins_, begin);
    const std::uint64_t most = begin + kMostOfOne;
    return {begin, next == begins_.end() ? most : std::min(most, *next)};
  }

  // Beginnings of other functions.
  std::vector<std::uint64_t> targets_in(std::uint64_t begin) {
    std::vector<std::uint64_t> out;
    const Range range = range_of(begin);
    if (bytes_read_ > kMostBytes) return out;
    const std::vector<std::uint8_t> code = file_.loaded(range.begin, range.end - range.begin);
    bytes_read_ += code.size();
    ZydisDecodedInstruction instruction;
    std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
    for (std::size_t at = 0; at < code.size(); at += instruction.length) {
      if (!ZYAN_SUCCESS(
              ZydisDecoderDecodeFull(&decoder_, &code[at], code.size() - at, &instruction, operands.data())))
        break;
      const auto add = [&](std::uint64_t target) {
        if (target != begin && std::ranges::binary_search(begins_, target)) out.push_back(target);
      };
      if (const auto target = target_of(instruction, operands, begin + at, fixed_)) add(*target);
      if (const auto constants = constants_of(instruction, operands, begin + at)) {
        for (std::uint64_t place = constants->begin; place < constants->end; place += kWord)
          add(data_.at(place));
      }
    }
    return out;
  }

  const ElfFile& file_;
  ElfFunctions& elf_;
  bool fixed_;
  std::vector<std::uint64_t> begins_;
  DataAddresses data_;
  std::set<std::uint64_t> named_;
  std::map<std::uint64_t, std::set<std::string>> found_;  // with the names of their setters
  std::uint64_t bytes_read_ = 0;
  ZydisDecoder decoder_;
};

}  // namespace

std::string set_by(const std::string& setter) {
  return "[set by " + setter + "]";
}

void name_set_functions(const ElfFile& file, const std::vector<std::string>& setters,
                        ElfFunctions& functions) {
  if (setters.empty() || file.machine() != EM_X86_64) return;
  std::vector<ElfFunction> chosen;
  for (const ElfFunction& function : functions.functions) {
    const std::string name = readable_name(function.name);
    if (std::ranges::any_of(setters, [&](const std::string& pattern) { return matches(pattern, name); }))
      chosen.push_back({function.begin, function.end, name, {}});
  }
  Search search(file, functions);
  if (!search.has_table()) return;
  for (const ElfFunction& setter : chosen) search.look_into(setter);
  search.add_found();
}

}  // namespace tailor::query
