#include "daemon/enrich/operand.h"

#include <Zydis/Zydis.h>
#include <asm/perf_regs.h>

#include <algorithm>
#include <array>
#include <bit>

namespace tailor::enrich {
namespace {

constexpr std::int32_t kNothing = -1;  // nothing leads here
constexpr std::int32_t kSeveral = -2;  // more than one way
constexpr int kStackPointer = 4;       // by the hardware's number

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

// Of a direct jump or call, as an offset in the code.
std::optional<std::uint64_t> branch_target(const Decoded& d, std::uint64_t offset) {
  const auto category = d.instruction.meta.category;
  if (category != ZYDIS_CATEGORY_COND_BR && category != ZYDIS_CATEGORY_UNCOND_BR &&
      category != ZYDIS_CATEGORY_CALL)
    return std::nullopt;
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
  std::uint64_t value(int number) const { return values[static_cast<std::size_t>(number)]; }
  void forget(int number) { mask = static_cast<std::uint16_t>(mask & ~(1u << number)); }
  void shift(int number, std::uint64_t by) { values[static_cast<std::size_t>(number)] += by; }
  // `target` was overwritten by the value of `source` less `by`.
  void was(int source, int target, std::uint64_t by) {
    const bool known = has(target);
    const std::uint64_t old = value(target) + by;
    if (source != target) forget(target);
    if (!known) return;
    values[static_cast<std::size_t>(source)] = old;
    mask = static_cast<std::uint16_t>(mask | 1u << source);
  }
};

bool is_register(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.size == 64 &&
         number_of(operand.reg.value) >= 0;
}

// The register that the whole address is, but for a constant; -1: it is not that simple.
int only_base(const Decoded& d, const ZydisDecodedOperand& address) {
  const bool simple = d.instruction.address_width == 64 && address.mem.index == ZYDIS_REGISTER_NONE;
  return simple ? number_of(address.mem.base) : -1;
}

// By what an addition or subtraction to `target` changed it, as far as that is known.
std::optional<std::uint64_t> growth(const Decoded& d, int target, const Known& known) {
  const ZydisDecodedOperand& by = d.operands[1];
  std::uint64_t amount = 0;
  if (by.type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
    amount = static_cast<std::uint64_t>(by.imm.value.s);
  } else if (is_register(by) && known.has(number_of(by.reg.value)) && number_of(by.reg.value) != target) {
    amount = known.value(number_of(by.reg.value));
  } else {
    return std::nullopt;
  }
  return d.instruction.mnemonic == ZYDIS_MNEMONIC_ADD ? amount : ~amount + 1;
}

// Undoes what leaves the old value of a register, or that of another one, to be computed. False: it is none
// of these.
bool undo_reversible(const Decoded& d, Known& known) {
  const ZydisDecodedOperand& to = d.operands[0];
  const ZydisDecodedOperand& from = d.operands[1];
  if (d.instruction.operand_count_visible < 1 || !is_register(to)) return false;
  const int target = number_of(to.reg.value);
  switch (d.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_INC:
      known.shift(target, ~std::uint64_t{0});
      return true;
    case ZYDIS_MNEMONIC_DEC:
      known.shift(target, 1);
      return true;
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB: {
      const auto by = growth(d, target, known);
      if (by) known.shift(target, ~*by + 1);
      return by.has_value();
    }
    case ZYDIS_MNEMONIC_LEA: {
      const int base = only_base(d, from);
      if (base >= 0) known.was(base, target, ~static_cast<std::uint64_t>(from.mem.disp.value) + 1);
      return base >= 0;
    }
    case ZYDIS_MNEMONIC_MOV:
      if (!is_register(from)) return false;
      known.was(number_of(from.reg.value), target, 0);
      return true;
    default:
      return false;
  }
}

// From the registers after the instruction to those before it.
void undo(const Decoded& d, Known& known) {
  if (undo_reversible(d, known)) return;
  const bool push = d.instruction.mnemonic == ZYDIS_MNEMONIC_PUSH;
  const bool pop = d.instruction.mnemonic == ZYDIS_MNEMONIC_POP;
  const std::uint64_t width = d.instruction.operand_width / 8;
  if (push) known.shift(kStackPointer, width);
  if (pop) known.shift(kStackPointer, ~width + 1);
  for (int i = 0; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type != ZYDIS_OPERAND_TYPE_REGISTER) continue;
    if (!(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) continue;
    if ((push || pop) && operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN) continue;  // undone above
    const int number = number_of(operand.reg.value);
    if (number >= 0) known.forget(number);
  }
}

// What an instruction does to memory.
struct Access {
  enum class Kind : std::uint8_t { kNone, kOne, kUnclear };
  Kind kind = Kind::kNone;
  const ZydisDecodedOperand* operand = nullptr;  // of kOne
  std::int64_t further = 0;                      // bytes, to be added to its address
};

// The accesses of push, pop and string instructions are not written out.
Access hidden_access(const Decoded& d) {
  for (int i = d.instruction.operand_count_visible; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY) continue;
    if (d.instruction.mnemonic == ZYDIS_MNEMONIC_POP) return {Access::Kind::kOne, &operand};
    if (d.instruction.mnemonic != ZYDIS_MNEMONIC_PUSH) return {Access::Kind::kUnclear};
    return {Access::Kind::kOne, &operand, -std::int64_t{d.instruction.operand_width / 8}};
  }
  return {};
}

// That of an instruction which has one beside the stack's: the stack is not what takes time.
Access access_of(const Decoded& d) {
  using Kind = Access::Kind;
  const bool none = d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP ||
                    d.instruction.mnemonic == ZYDIS_MNEMONIC_LEA ||
                    d.instruction.meta.category == ZYDIS_CATEGORY_PREFETCH;
  if (none) return {};
  Access access;
  for (int i = 0; i < d.instruction.operand_count_visible; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM || access.kind != Kind::kNone) return {Kind::kUnclear};
    access = {Kind::kOne, &operand};
  }
  if (access.kind == Kind::kNone) return hidden_access(d);
  // A stack pointer in the operand of pop counts as it is afterwards.
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_POP || d.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP)
    return {Kind::kUnclear};
  return access;
}

// It can be interrupted between its accesses: the last access before a sample there may be its own.
bool has_several_accesses(const Decoded& d) {
  if (d.instruction.meta.category == ZYDIS_CATEGORY_STRINGOP) return true;
  return std::ranges::any_of(std::span(d.operands).first(d.instruction.operand_count_visible),
                             [](const ZydisDecodedOperand& operand) {
                               return operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
                                      operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB;
                             });
}

// Code that is not seen runs before the next instruction.
bool leaves(const Decoded& d) {
  switch (d.instruction.meta.category) {
    case ZYDIS_CATEGORY_CALL:
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_INTERRUPT:
      return true;
    default:
      return false;
  }
}

// `known`: the registers as they were before the instruction at `address`.
std::optional<std::uint64_t> evaluate(const Decoded& d, const Access& access, std::uint64_t address,
                                      const Known& known) {
  const ZydisDecodedOperand& operand = *access.operand;
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
    const int index = number_of(operand.mem.index);
    if (!known.has(index)) return std::nullopt;
    sum += known.values[static_cast<std::size_t>(index)] * operand.mem.scale;
  }
  if (d.instruction.address_width == 32) sum &= 0xFFFFFFFF;
  return sum + static_cast<std::uint64_t>(access.further);
}

// Where to, the code does not say.
bool jumps_anywhere(const Decoded& d) {
  if (d.instruction.mnemonic != ZYDIS_MNEMONIC_JMP) return false;
  const ZydisDecodedOperand& to = d.operands[0];
  // Through a constant place: to a function elsewhere.
  const bool elsewhere = to.type == ZYDIS_OPERAND_TYPE_MEMORY && to.mem.base == ZYDIS_REGISTER_RIP;
  return to.type != ZYDIS_OPERAND_TYPE_IMMEDIATE && !elsewhere;
}

}  // namespace

CodeReader::CodeReader(std::span<const std::byte> code) : code_(code) {
  find_ways();
}

void CodeReader::find_ways() {
  struct Jump {
    std::uint64_t target;
    std::int32_t from;  // kSeveral: a call, from anywhere
  };
  std::vector<Jump> jumps{{0, kSeveral}};
  Decoded d;
  bool falls_through = false, anywhere = false;
  for (std::size_t offset = 0; offset < code_.size();) {
    const auto index = static_cast<std::int32_t>(instructions_.size());
    if (!decode(code_, offset, d)) {  // data between functions, say
      falls_through = false;
      ++offset;
      continue;
    }
    instructions_.push_back({static_cast<std::uint32_t>(offset), falls_through ? index - 1 : kNothing});
    if (const auto target = branch_target(d, offset))
      jumps.push_back({*target, d.instruction.meta.category == ZYDIS_CATEGORY_CALL ? kSeveral : index});
    anywhere = anywhere || jumps_anywhere(d);
    falls_through = !ends_flow(d);
    offset += d.instruction.length;
  }
  // Any instruction may be the target of such a jump.
  if (anywhere) {
    for (Instruction& instruction : instructions_) instruction.before = kSeveral;
    return;
  }
  for (const Jump& jump : jumps) {
    const auto at = std::ranges::lower_bound(instructions_, jump.target, {}, &Instruction::offset);
    if (at == instructions_.end() || at->offset != jump.target) continue;
    at->before = at->before == kNothing ? jump.from : kSeveral;
  }
}

std::optional<Operand> CodeReader::operand_at(std::uint64_t base, std::uint32_t offset,
                                              const Registers& registers) const {
  const auto at = std::ranges::lower_bound(instructions_, offset, {}, &Instruction::offset);
  if (at == instructions_.end() || at->offset != offset) return std::nullopt;
  Decoded d;
  if (!decode(code_, offset, d) || has_several_accesses(d)) return std::nullopt;
  Known known(registers);
  std::int32_t index = at->before;
  for (int skid = 1; skid <= kMostSkid && index >= 0; ++skid) {
    const Instruction& instruction = instructions_[static_cast<std::size_t>(index)];
    if (!decode(code_, instruction.offset, d) || leaves(d)) return std::nullopt;
    undo(d, known);
    const Access access = access_of(d);
    if (access.kind == Access::Kind::kUnclear) return std::nullopt;
    if (access.kind == Access::Kind::kOne) {
      const auto address = evaluate(d, access, base + instruction.offset, known);
      if (!address) return std::nullopt;
      return Operand{*address, static_cast<std::uint8_t>(skid)};
    }
    index = instruction.before;
  }
  return std::nullopt;
}

}  // namespace tailor::enrich
