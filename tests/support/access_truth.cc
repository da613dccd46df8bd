#include "tests/support/access_truth.h"

#include <Zydis/Zydis.h>
#include <asm/perf_regs.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "daemon/enrich/operand.h"

namespace tailor {
namespace {

constexpr std::size_t kMostDescribed = 8;

struct Decoded {
  ZydisDecodedInstruction instruction;
  std::array<ZydisDecodedOperand, ZYDIS_MAX_OPERAND_COUNT> operands;
};

bool decode(std::span<const std::byte> code, std::size_t offset, Decoded& out) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code.data() + offset, code.size() - offset,
                                             &out.instruction, out.operands.data()));
}

// The last access before a point of the program.
struct LastAccess {
  enum class What { kBeforeTheRun, kUnseen, kKnown };
  What what = What::kBeforeTheRun;
  std::vector<std::uint64_t> addresses;  // of kKnown: all places that the instruction accessed
};

ZydisRegisterContext context_of(const user_regs_struct& r) {
  ZydisRegisterContext context{};
  const std::uint64_t values[] = {r.rax, r.rcx, r.rdx, r.rbx, r.rsp, r.rbp, r.rsi, r.rdi,
                                  r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15};
  for (std::size_t i = 0; i < std::size(values); ++i) context.values[ZYDIS_REGISTER_RAX + i] = values[i];
  for (std::size_t i = 0; i < std::size(values); ++i)
    context.values[ZYDIS_REGISTER_EAX + i] = static_cast<std::uint32_t>(values[i]);
  return context;
}

// What the instruction about to run at `ip` accesses; false: no memory at all.
bool accesses(const Decoded& d, std::uint64_t ip, const user_regs_struct& registers, LastAccess& out) {
  if (d.instruction.mnemonic == ZYDIS_MNEMONIC_LEA || d.instruction.mnemonic == ZYDIS_MNEMONIC_NOP ||
      d.instruction.meta.category == ZYDIS_CATEGORY_PREFETCH)
    return false;
  const ZydisRegisterContext context = context_of(registers);
  LastAccess found{LastAccess::What::kKnown, {}};
  bool any = false;
  for (int i = 0; i < d.instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = d.operands[static_cast<std::size_t>(i)];
    if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || operand.mem.type == ZYDIS_MEMOP_TYPE_AGEN) continue;
    any = true;
    ZyanU64 address = 0;
    if (operand.mem.type != ZYDIS_MEMOP_TYPE_MEM ||
        !ZYAN_SUCCESS(ZydisCalcAbsoluteAddressEx(&d.instruction, &operand, ip, &context, &address))) {
      found.what = LastAccess::What::kUnseen;
      break;
    }
    const bool pushes = operand.visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
                        operand.mem.base == ZYDIS_REGISTER_RSP &&
                        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
    if (pushes) address = registers.rsp - operand.size / 8;
    if (operand.mem.segment == ZYDIS_REGISTER_FS) address += registers.fs_base;
    if (operand.mem.segment == ZYDIS_REGISTER_GS) address += registers.gs_base;
    found.addresses.push_back(address);
  }
  if (any) out = std::move(found);
  return any;
}

// General registers as perf gives them.
struct PerfRegisters {
  std::array<std::uint64_t, 17> values;
  static constexpr std::uint32_t kMask = 0xFF01FF;

  explicit PerfRegisters(const user_regs_struct& r)
      : values{r.rax, r.rbx, r.rcx, r.rdx, r.rsi, r.rdi, r.rbp, r.rsp, r.rip,
               r.r8,  r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15} {}
  enrich::Registers view() const { return {kMask, values}; }
};
static_assert(PERF_REG_X86_AX == 0 && PERF_REG_X86_SP == 7 && PERF_REG_X86_IP == 8 && PERF_REG_X86_R8 == 16);

void judge(const enrich::CodeReader& reader, const LastAccess& truth, std::uint64_t base, std::uint64_t ip,
           const user_regs_struct& registers, AccessTally& tally) {
  if (truth.what == LastAccess::What::kBeforeTheRun) return;
  const PerfRegisters sampled(registers);
  const auto offset = static_cast<std::uint32_t>(ip - base);
  const auto found = reader.operand_at(base, offset, sampled.view());
  if (!found) {
    ++tally.lost;
    return;
  }
  ++tally.resolved;
  const bool right = truth.what == LastAccess::What::kKnown &&
                     std::ranges::find(truth.addresses, found->address) != truth.addresses.end();
  if (right) return;
  ++tally.wrong;
  if (tally.wrong_at.size() < kMostDescribed) tally.wrong_at.push_back(offset);
}

}  // namespace

void AccessTally::add(const AccessTally& other) {
  resolved += other.resolved, wrong += other.wrong, lost += other.lost;
}

double AccessTally::wrong_percent() const {
  return 100.0 * static_cast<double>(wrong) / static_cast<double>(std::max<std::uint64_t>(resolved, 1));
}

double AccessTally::lost_percent() const {
  return 100.0 * static_cast<double>(lost) / static_cast<double>(std::max<std::uint64_t>(samples(), 1));
}

std::vector<TracedInstruction> instructions_of(std::span<const std::byte> code, std::uint64_t base) {
  std::vector<TracedInstruction> all;
  Decoded d;
  for (std::size_t offset = 0; offset < code.size(); offset += d.instruction.length) {
    if (!decode(code, offset, d)) std::abort();
    all.push_back({base + offset, d.instruction.meta.category == ZYDIS_CATEGORY_CALL});
  }
  return all;
}

AccessTally judge_accesses(std::span<const TracedRun> runs, std::span<const std::byte> code,
                           std::uint64_t base, std::size_t stale) {
  const enrich::CodeReader reader(code);
  AccessTally tally;
  Decoded d;
  for (const TracedRun& run : runs) {
    LastAccess last;
    if (run.from_entry) last.what = LastAccess::What::kUnseen;
    for (std::size_t i = 0; i < run.steps.size(); ++i) {
      const TracedStep& step = run.steps[i];
      judge(reader, last, base, step.ip, run.steps[i - std::min(i, stale)].registers, tally);
      if (!decode(code, step.ip - base, d)) std::abort();
      accesses(d, step.ip, step.registers, last);
      const bool call = d.instruction.meta.category == ZYDIS_CATEGORY_CALL;
      const bool came_back =
          i + 1 < run.steps.size() && run.steps[i + 1].ip == step.ip + d.instruction.length;
      if (call && came_back) last = {LastAccess::What::kUnseen, {}};
    }
  }
  return tally;
}

}  // namespace tailor
