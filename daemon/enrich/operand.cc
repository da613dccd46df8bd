#include "daemon/enrich/operand.h"

#include <Zydis/Zydis.h>
#include <asm/perf_regs.h>

#include <algorithm>
#include <array>
#include <bit>

namespace tailor::enrich {
namespace {

constexpr std::int32_t kNone = -1;     // nothing leads here
constexpr std::int32_t kSeveral = -2;  // more than one way

// By the hardware's number of a register.
constexpr std::array<std::uint8_t, 16> kPerfNumbers = {
    PERF_REG_X86_AX,  PERF_REG_X86_CX,  PERF_REG_X86_DX,  PERF_REG_X86_BX, PERF_REG_X86_SP,  PERF_REG_X86_BP,
    PERF_REG_X86_SI,  PERF_REG_X86_DI,  PERF_REG_X86_R8,  PERF_REG_X86_R9, PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15};

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

const ZydisDecoder& decoder() {
  static const ZydisDecoder made = [] {
    ZydisDecoder fresh;
    ZydisDecoderInit(&fresh, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    return fresh;
  }();
  return made;
}

bool decode(std::span<const std::byte> code, std::size_t offset, Decoded& out) {
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data() + offset, code.size() - offset,
                                             &out.instruction, out.operands.data()));
}

// Hardware number of the 64-bit register that holds `name`, -1: none of the general ones.
int number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? whole - ZYDIS_REGISTER_RAX : -1;
}

bool ends_flow(const Decoded& d) {
  switch (d.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_JMP:
    case ZYDIS_MNEMONIC_RET:
    case ZYDIS_MNEMONIC_UD2:
    case ZYDIS_MNEMONIC_INT3:
    case ZYDIS_MNEMONIC_HLT:
      return true;
    default:
      return false;
  }
}

// Of a direct jump, as an offset in the code.
std::optional<std::uint64_t> jump_target(const Decoded& d, std::uint64_t offset) {
  const auto category = d.instruction.meta.category;
  if (category != ZYDIS_CATEGORY_COND_BR && category != ZYDIS_CATEGORY_UNCOND_BR) return std::nullopt;
  const ZydisDecodedOperand& to = d.operands[0];
  if (to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE || !to.imm.is_relative) return std::nullopt;
  return offset + d.instruction.length + static_cast<std::uint64_t>(to.imm.value.s);
}

// What is known of the registers at a point before the sample.
struct Known {
  std::array<std::uint64_t, 16> values{};
  std::uint16_t mask = 0;

  explicit Known(const Registers& registers) {
    for (unsigned number = 0; number < kPerfNumbers.size(); ++number) {
      const std::uint32_t bit = std::uint32_t{1} << kPerfNumbers[number];
      if (!(registers.mask & bit)) continue;
      const auto index = static_cast<std::size_t>(std::popcount(registers.mask & (bit - 1)));
      if (index >= registers.values.size()) continue;
      values[number] = registers.values[index];
      mask = static_cast<std::uint16_t>(mask | 1u << number);
    }
  }
  bool has(int number) const { return number >= 0 && (mask >> number & 1) != 0; }
  void forget(int number) { mask = static_cast<std::uint16_t>(mask & ~(1u << number)); }
};

// By how much a 64-bit register grew, if the instruction does nothing else to it.
std::optional<std::uint64_t> growth(const Decoded& d) {
  const ZydisDecodedOperand& to = d.operands[0];
  if (to.type != ZYDIS_OPERAND_TYPE_REGISTER || to.size != 64) return std::nullopt;
  const ZydisDecodedOperand& by = d.operands[1];
  const bool constant = by.type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  switch (d.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_INC:
      return 1;
    case ZYDIS_MNEMONIC_DEC:
      return ~std::uint64_t{0};
    case ZYDIS_MNEMONIC_ADD:
      if (constant) return static_cast<std::uint64_t>(by.imm.value.s);
      return std::nullopt;
    case ZYDIS_MNEMONIC_SUB:
      if (constant) return ~static_cast<std::uint64_t>(by.imm.value.s) + 1;
      return std::nullopt;
    case ZYDIS_MNEMONIC_LEA:
      if (by.mem.base == to.reg.value && by.mem.index == ZYDIS_REGISTER_NONE) {
        return static_cast<std::uint64_t>(by.mem.disp.value);
      }
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// From the registers after the instruction to those before it.
void undo(const Decoded& d, Known& known) {
  if (const auto by = growth(d)) {
    const int number = number_of(d.operands[0].reg.value);
    if (number >= 0) known.values[static_cast<std::size_t>(number)] -= *by;
    return;
  }
  for (int i = 0; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if (!(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) continue;
    const int number = number_of(operand.reg.value);
    if (number >= 0) known.forget(number);
  }
}

const ZydisDecodedOperand* memory_operand(const Decoded& d) {
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP || d.instruction.mnemonic == ZYDIS_MNEMONIC_LEA) {
    return nullptr;
  }
  for (int i = 0; i < d.instruction.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY && operand.mem.type == ZYDIS_MEMOP_TYPE_MEM)
      return &operand;
  }
  return nullptr;
}

bool on_stack(const ZydisDecodedOperand& operand) {
  return operand.mem.base == ZYDIS_REGISTER_RSP;
}

// `known`: the registers as they were before the instruction at `address`.
std::optional<std::uint64_t> evaluate(const Decoded& d, const ZydisDecodedOperand& operand,
                                      std::uint64_t address, const Known& known) {
  if (operand.mem.segment == ZYDIS_REGISTER_FS || operand.mem.segment == ZYDIS_REGISTER_GS)
    return std::nullopt;
  auto sum = static_cast<std::uint64_t>(operand.mem.disp.has_displacement ? operand.mem.disp.value : 0);
  if (operand.mem.base == ZYDIS_REGISTER_RIP) {
    sum += address + d.instruction.length;
  } else if (operand.mem.base != ZYDIS_REGISTER_NONE) {
    const int base = number_of(operand.mem.base);
    if (!known.has(base)) return std::nullopt;
    sum += known.values[static_cast<std::size_t>(base)];
  }
  if (operand.mem.index != ZYDIS_REGISTER_NONE) {
    const int index = number_of(operand.mem.index);  // vector indexes of gathers are no general registers
    if (!known.has(index)) return std::nullopt;
    sum += known.values[static_cast<std::size_t>(index)] * operand.mem.scale;
  }
  if (d.instruction.address_width == 32) sum &= 0xFFFFFFFF;
  return sum;
}

}  // namespace

CodeReader::CodeReader(std::span<const std::byte> code) : code_(code) {
  struct Jump {
    std::uint64_t target;
    std::int32_t from;
  };
  std::vector<Jump> jumps;
  Decoded d;
  bool falls_through = false;
  for (std::size_t offset = 0; offset < code.size();) {
    const auto index = static_cast<std::int32_t>(instructions_.size());
    if (!decode(code, offset, d)) {  // data between functions, say
      falls_through = false;
      ++offset;
      continue;
    }
    instructions_.push_back({static_cast<std::uint32_t>(offset), falls_through ? index - 1 : kNone});
    if (const auto target = jump_target(d, offset)) jumps.push_back({*target, index});
    falls_through = !ends_flow(d);
    offset += d.instruction.length;
  }
  for (const Jump& jump : jumps) {
    const auto at = std::ranges::lower_bound(instructions_, jump.target, {}, &Instruction::offset);
    if (at == instructions_.end() || at->offset != jump.target) continue;
    at->before = at->before == kNone ? jump.from : kSeveral;
  }
}

std::optional<Operand> CodeReader::operand_at(std::uint64_t base, std::uint32_t offset,
                                              const Registers& registers) const {
  const auto at = std::ranges::lower_bound(instructions_, offset, {}, &Instruction::offset);
  if (at == instructions_.end() || at->offset != offset) return std::nullopt;
  const Known at_sample(registers);
  Known known = at_sample;
  std::optional<Operand> stack;
  Decoded d;
  std::int32_t index = at->before;
  for (int skid = 1; skid <= kMostSkid && index >= 0; ++skid) {
    const Instruction& instruction = instructions_[static_cast<std::size_t>(index)];
    if (!decode(code_, instruction.offset, d)) break;
    if (d.instruction.meta.category == ZYDIS_CATEGORY_CALL) break;  // what it did is not known
    undo(d, known);
    if (const ZydisDecodedOperand* operand = memory_operand(d)) {
      const auto address = evaluate(d, *operand, base + instruction.offset, known);
      const Operand found{address.value_or(0), static_cast<std::uint8_t>(skid)};
      if (address && !on_stack(*operand)) return found;
      if (address && !stack) stack = found;
    }
    index = instruction.before;
  }
  if (decode(code_, offset, d)) {
    if (const ZydisDecodedOperand* operand = memory_operand(d)) {
      const auto address = evaluate(d, *operand, base + offset, at_sample);
      if (address && (!on_stack(*operand) || !stack)) return Operand{*address, 0};
    }
  }
  return stack;
}

}  // namespace tailor::enrich
