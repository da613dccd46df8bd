#include <fmt/format.h>
#include <llvm/IR/InlineAsm.h>

#include <string>

#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/scalar_code.h"
#include "compiler/weft/runtime/scalar.h"

namespace tailor::weft {
namespace {

static_assert(BurnExpr::kMaxRounds <= kMostBurnRounds);

// Multiplies by one, `rounds` times, where neither LLVM nor the processor can skip a step: known cost inside
// the operator's own code. Straight code between two fences, like weft_rt_burn, for the reasons given there.
// And however many rounds run, the code has the size of a multiple of kBlock rounds, the rest of them jumped
// over: if it grew with the rounds, it would move the code of the operators behind it, which alone makes some
// of them slower.
llvm::Value* burn_inline(Compilation& c, llvm::Value* word, std::uint64_t rounds) {
  constexpr std::uint64_t kBlock = 256;
  constexpr std::uint64_t kRoundBytes = 4;
  const std::uint64_t skipped = (rounds / kBlock + 1) * kBlock - rounds;
  jit::TrackedBuilder& ir = c.ir();
  auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty()}, false);
  // The jump is written as bytes, so that it has one length for every distance.
  const std::string steps = fmt::format(
      "lfence\n.byte 0xe9\n.long {}\n.skip {}, 0x90\n.rept {}\nimulq $$1, $0, $0\n.endr\nlfence\nnop\nnop",
      skipped * kRoundBytes, skipped * kRoundBytes, rounds);
  auto* code = llvm::InlineAsm::get(type, steps, "=r,0,~{flags},~{memory}", true);
  return ir.CreateCall(type, code, {word});
}

}  // namespace

SqlValue emit_burn(Compilation& c, const BurnExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue value = emit_expression(c, *expr.children[0]);
  // A text's length and a wide integer's low word carry the dependence.
  llvm::Value* carrier = value.length != nullptr ? value.length : value.data;
  llvm::Type* type = carrier->getType();
  llvm::Value* word = ir.CreateZExtOrTrunc(carrier, ir.getInt64Ty());
  llvm::Value* burned = expr.call ? c.call("weft_rt_burn", ir.getInt64Ty(), {word, ir.getInt64(expr.rounds)})
                                  : burn_inline(c, word, expr.rounds);
  if (type->getIntegerBitWidth() > 64) {
    // What was burned equals the low word: their difference, zero, keeps the steps alive.
    llvm::Value* nothing = ir.CreateZExt(ir.CreateXor(burned, word), type);
    carrier = ir.CreateXor(carrier, nothing);
  } else {
    carrier = ir.CreateTrunc(burned, type);
  }
  (value.length != nullptr ? value.length : value.data) = carrier;
  return value;
}

}  // namespace tailor::weft
