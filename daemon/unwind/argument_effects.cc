#include "daemon/unwind/argument_effects.h"

#include <Zydis/Zydis.h>

#include <algorithm>
#include <array>
#include <optional>

namespace tailor::unwind {
namespace {

using EffectKind = Effect::Kind;
using EffectFlow = Effect::Flow;

// How many instructions before a jump what it reads is looked for: what is done for it alone, and the address
// of its table, which several jumps may share.
constexpr std::size_t kNear = 16, kFar = 256;
constexpr std::int64_t kMostPlaces = 1024;  // of a table

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

// Of the general register that `name` is a part of.
std::int8_t number_of(ZydisRegister name) {
  const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, name);
  if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15) return kNoRegister;
  return static_cast<std::int8_t>(whole - ZYDIS_REGISTER_RAX);
}

bool is_whole(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_REGISTER && operand.reg.value >= ZYDIS_REGISTER_RAX &&
         operand.reg.value <= ZYDIS_REGISTER_R15;
}

bool is_memory(const ZydisDecodedOperand& operand) {
  return operand.type == ZYDIS_OPERAND_TYPE_MEMORY;
}

// base + displacement, and nothing else.
bool is_plain(const ZydisDecodedOperandMem& memory) {
  return memory.index == ZYDIS_REGISTER_NONE && number_of(memory.base) != kNoRegister &&
         memory.segment != ZYDIS_REGISTER_FS && memory.segment != ZYDIS_REGISTER_GS &&
         memory.disp.value >= INT32_MIN && memory.disp.value <= INT32_MAX;
}

void set_place(const ZydisDecodedOperandMem& memory, Effect& out) {
  out.base = number_of(memory.base);
  out.number = static_cast<std::int32_t>(memory.disp.value);
}

void set_kills(const Decoded& d, Effect& out) {
  for (std::size_t i = 0; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[i];
    if (!(operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) continue;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) {
      if (const std::int8_t reg = number_of(operand.reg.value); reg >= 0)
        out.kills |= static_cast<std::uint16_t>(1u << reg);
    } else if (is_memory(operand) && operand.visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
               is_plain(operand.mem)) {
      set_place(operand.mem, out);
      out.store_bytes = static_cast<std::uint8_t>(std::min<unsigned>(operand.size / 8, 255));
    }
  }
}

void set_move(const Decoded& d, Effect& out) {
  const ZydisDecodedOperand &to = d.operands[0], &from = d.operands[1];
  if (is_whole(to) && is_whole(from)) {
    out.kind = EffectKind::kCopy;
    out.to = number_of(to.reg.value);
    out.from = number_of(from.reg.value);
  } else if (is_whole(to) && is_memory(from) && is_plain(from.mem)) {
    out.kind = EffectKind::kLoad;
    out.to = number_of(to.reg.value);
    set_place(from.mem, out);
  } else if (is_memory(to) && is_plain(to.mem) && is_whole(from)) {
    out.kind = EffectKind::kStore;
    out.from = number_of(from.reg.value);
    set_place(to.mem, out);
  }
}

void set_sum(const Decoded& d, Effect& out) {
  const ZydisDecodedOperand &to = d.operands[0], &by = d.operands[1];
  if (!is_whole(to) || by.type != ZYDIS_OPERAND_TYPE_IMMEDIATE) return;
  const std::int64_t number = d.instruction.mnemonic == ZYDIS_MNEMONIC_SUB ? -by.imm.value.s : by.imm.value.s;
  if (number < INT32_MIN || number > INT32_MAX) return;
  out.kind = EffectKind::kAdd;
  out.to = number_of(to.reg.value);
  out.number = static_cast<std::int32_t>(number);
}

void set_lea(const Decoded& d, Effect& out) {
  if (!is_whole(d.operands[0]) || !is_plain(d.operands[1].mem)) return;
  out.kind = EffectKind::kLea;
  out.to = number_of(d.operands[0].reg.value);
  set_place(d.operands[1].mem, out);
}

void set_call(const Decoded& d, Effect& out) {
  out.kind = EffectKind::kCall;
  const ZydisDecodedOperand& callee = d.operands[0];
  out.by_register = callee.type == ZYDIS_OPERAND_TYPE_REGISTER;
  if (!is_memory(callee) || !is_plain(callee.mem) || callee.mem.disp.value < 0) return;
  out.from = number_of(callee.mem.base);
  out.method = static_cast<std::int32_t>(callee.mem.disp.value);
}

// What it does to values.
void set_kind(const Decoded& d, Effect& out) {
  switch (d.instruction.mnemonic) {
    case ZYDIS_MNEMONIC_MOV:
      return set_move(d, out);
    case ZYDIS_MNEMONIC_ADD:
    case ZYDIS_MNEMONIC_SUB:
      return set_sum(d, out);
    case ZYDIS_MNEMONIC_LEA:
      return set_lea(d, out);
    case ZYDIS_MNEMONIC_PUSH:
      out.kind = EffectKind::kPush;
      if (is_whole(d.operands[0])) out.from = number_of(d.operands[0].reg.value);
      return;
    case ZYDIS_MNEMONIC_POP:
      out.kind = EffectKind::kPop;
      if (is_whole(d.operands[0])) out.to = number_of(d.operands[0].reg.value);
      return;
    case ZYDIS_MNEMONIC_LEAVE:
      out.kind = EffectKind::kLeave;
      return;
    case ZYDIS_MNEMONIC_CALL:
      return set_call(d, out);
    default:
      return;
  }
}

// Where it goes on. Direct targets only.
void set_flow(const Decoded& d, std::uint32_t offset, Effect& out) {
  const ZydisInstructionCategory category = d.instruction.meta.category;
  const bool direct = d.instruction.operand_count > 0 && d.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
  if (category == ZYDIS_CATEGORY_COND_BR || category == ZYDIS_CATEGORY_UNCOND_BR) {
    if (direct) out.target = std::int64_t{offset} + d.instruction.length + d.operands[0].imm.value.s;
    if (category == ZYDIS_CATEGORY_COND_BR)
      out.flow = EffectFlow::kBranch;
    else
      out.flow = direct ? EffectFlow::kJump : EffectFlow::kUnknown;
  } else if (category == ZYDIS_CATEGORY_RET || d.instruction.mnemonic == ZYDIS_MNEMONIC_UD2 ||
             d.instruction.mnemonic == ZYDIS_MNEMONIC_HLT || d.instruction.mnemonic == ZYDIS_MNEMONIC_INT3) {
    out.flow = EffectFlow::kEnd;
  }
}

// What is remembered of an instruction to find tables: lea table(%rip), to; movslq (base, index, 4), to; and
// cmp $last, index; ja.
struct TablePart {
  std::optional<std::uint64_t> lea;
  std::optional<std::int64_t> last;
  std::int8_t to = kNoRegister, load_base = kNoRegister;
  bool above = false;
};

TablePart table_part(const Decoded& d, std::uint64_t address) {
  TablePart part;
  part.above = d.instruction.mnemonic == ZYDIS_MNEMONIC_JNBE;
  if (d.instruction.operand_count < 2) return part;
  const ZydisDecodedOperand &to = d.operands[0], &from = d.operands[1];
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_CMP && from.type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
    part.last = from.imm.value.s;
  if (!is_whole(to) || !is_memory(from)) return part;
  part.to = number_of(to.reg.value);
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_LEA && from.mem.base == ZYDIS_REGISTER_RIP)
    part.lea = address + d.instruction.length + static_cast<std::uint64_t>(from.mem.disp.value);
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_MOVSXD && from.mem.scale == 4 && from.mem.disp.value == 0)
    part.load_base = number_of(from.mem.base);
  return part;
}

// How many places the comparison leaves that comes last in `parts`, 0: none does.
std::uint32_t places_left(std::span<const TablePart> parts) {
  for (std::size_t i = parts.size(); i-- > 1;) {
    if (!parts[i].above || !parts[i - 1].last) continue;
    const std::int64_t last = *parts[i - 1].last;
    return last >= 0 && last < kMostPlaces ? static_cast<std::uint32_t>(last) + 1 : 0;
  }
  return 0;
}

// The table of the jump `d` behind `parts`.
std::optional<JumpTable> find_table(const Decoded& d, std::span<const TablePart> parts) {
  const auto near = parts.last(std::min(parts.size(), kNear));
  const ZydisDecodedOperand& target = d.operands[0];
  if (is_memory(target) && target.mem.base == ZYDIS_REGISTER_NONE && target.mem.scale == 8)
    return JumpTable{static_cast<std::uint64_t>(target.mem.disp.value), true, places_left(near)};
  const auto load = std::find_if(near.rbegin(), near.rend(),
                                 [](const TablePart& part) { return part.load_base != kNoRegister; });
  if (target.type != ZYDIS_OPERAND_TYPE_REGISTER || load == near.rend()) return std::nullopt;
  const auto far = parts.last(std::min(parts.size(), kFar));
  const auto lea = std::find_if(far.rbegin(), far.rend(), [&](const TablePart& part) {
    return part.lea && part.to == load->load_base;
  });
  if (lea == far.rend()) return std::nullopt;
  return JumpTable{*lea->lea, false, places_left(near)};
}

// BX, BP, and R12 to R15.
constexpr std::uint16_t kKeptByCalls = 0xF028;

// Which register holds what rdi holds, as far as the instructions since the last jump say.
class CopyOfDi {
 public:
  // A register with the object of a call through `reg`: if there is one, one other than rdi. kNoRegister: the
  // call gives something else.
  std::int8_t object_of(std::int8_t reg) const {
    // One that calls keep is an object's as a rule; rdi may have been loaded before a jump to here.
    if (reg != kHardwareDi) return reg == reg_ || (reg >= 0 && kKeptByCalls >> reg & 1) ? reg : kNoRegister;
    return reg_ == kNoRegister ? reg : reg_;
  }

  void pass(const Effect& effect) {
    if (effect.kind == EffectKind::kCopy && effect.to == kHardwareDi) {
      reg_ = effect.from;
    } else if (effect.kind == EffectKind::kCopy && effect.from == kHardwareDi) {
      reg_ = effect.to;
    } else if (effect.kind == EffectKind::kCall || effect.flow == EffectFlow::kJump ||
               effect.flow == EffectFlow::kEnd ||
               (reg_ >= 0 && (effect.kills >> reg_ & 1 || effect.kills >> kHardwareDi & 1))) {
      reg_ = kNoRegister;
    }
  }

 private:
  std::int8_t reg_ = kNoRegister;
};

}  // namespace

Effects effects_of(std::span<const std::byte> code, std::uint64_t address) {
  Effects out;
  std::vector<TablePart> parts;
  CopyOfDi copy;
  Decoded d;
  for (std::size_t offset = 0; offset < code.size(); offset += d.instruction.length) {
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder(), code.data() + offset, code.size() - offset,
                                             &d.instruction, d.operands.data())))
      break;
    Effect effect;
    effect.offset = static_cast<std::uint32_t>(offset);
    effect.length = d.instruction.length;
    effect.padding = d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP;
    set_kills(d, effect);
    set_kind(d, effect);
    set_flow(d, effect.offset, effect);
    if (effect.flow == EffectFlow::kUnknown) {
      if (const auto table = find_table(d, parts)) {
        effect.flow = EffectFlow::kTable;
        effect.target = static_cast<std::int64_t>(out.tables.size());
        out.tables.push_back(*table);
      }
    }
    if (effect.method >= 0) {
      effect.from = copy.object_of(effect.from);
      if (effect.from == kNoRegister) effect.method = -1;
    }
    copy.pass(effect);
    out.instructions.push_back(effect);
    parts.push_back(table_part(d, address + offset));
  }
  return out;
}

}  // namespace tailor::unwind
