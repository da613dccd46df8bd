#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"

namespace tailor::weft {
namespace {

// "abc%" and "%abc": one comparison at a known place.
bool is_prefix_or_suffix(const LikePattern& pattern) {
  return pattern.parts.size() == 1 && !pattern.parts[0].has_wild &&
         pattern.anchored_start != pattern.anchored_end;
}

}  // namespace

SqlValue emit_like(Compilation& c, const LikeExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue text = emit_expression(c, *expr.children[0]);
  llvm::Value* matches;
  if (is_prefix_or_suffix(expr.pattern)) {
    const std::string& bytes = expr.pattern.parts[0].bytes;
    llvm::Value* size = ir.getInt64(bytes.size());
    auto compare = [&] {
      llvm::Value* at = text.data;
      if (expr.pattern.anchored_end)
        at = ir.CreateInBoundsGEP(ir.getInt8Ty(), at, ir.CreateSub(text.length, size));
      return SqlValue{emit_bytes_are(c, at, bytes)};
    };
    matches = emit_choice(c, ir.CreateICmpUGE(text.length, size), compare, [&] {
                return SqlValue{ir.getFalse()};
              }).data;
  } else {
    // The pattern lives in the plan, which the code does not outlive.
    llvm::Value* pattern = llvm::ConstantExpr::getIntToPtr(
        ir.getInt64(reinterpret_cast<std::uint64_t>(&expr.pattern)), ir.getPtrTy());
    matches = c.call("weft_rt_like", ir.getInt1Ty(), {pattern, text.data, text.length});
  }
  if (text.null != nullptr) matches = ir.CreateAnd(matches, ir.CreateNot(text.null));
  return {matches, nullptr, text.null};
}

SqlValue emit_in_list(Compilation& c, const InListExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  const Expr& input = *expr.children[0];
  SqlValue value = emit_expression(c, input);
  llvm::Value* found = ir.getFalse();
  for (const Value& constant : expr.values) {
    llvm::Value* equal;
    if (input.width() == Width::kString) {
      equal = emit_text_is(c, value, constant.text);
    } else {
      ConstantExpr operand(constant);
      equal = emit_equal(c, value, input.width(), emit_expression(c, operand), operand.width());
    }
    found = ir.CreateOr(found, equal);
  }
  if (value.null != nullptr) found = ir.CreateAnd(found, ir.CreateNot(value.null));
  return {found, nullptr, value.null};
}

SqlValue emit_substring(Compilation& c, const SubstringExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue text = emit_expression(c, *expr.children[0]);
  std::int64_t first = std::max<std::int64_t>(expr.start, 1) - 1;
  std::int64_t last = std::max<std::int64_t>(first, expr.start - 1 + std::max<std::int64_t>(expr.length, 0));
  auto at_most_length = [&](std::int64_t bound) {
    llvm::Value* limit = ir.getInt64(static_cast<std::uint64_t>(bound));
    return ir.CreateSelect(ir.CreateICmpULT(text.length, limit), text.length, limit);
  };
  llvm::Value* begin = at_most_length(first);
  llvm::Value* end = at_most_length(last);
  return {ir.CreateInBoundsGEP(ir.getInt8Ty(), text.data, begin), ir.CreateSub(end, begin), text.null};
}

}  // namespace tailor::weft
