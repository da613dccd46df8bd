#include <llvm/IR/Intrinsics.h>

#include "compiler/weft/codegen/expression_code.h"
#include "compiler/weft/codegen/flow.h"
#include "compiler/weft/codegen/scalar_code.h"

namespace tailor::weft {
namespace {

llvm::Value* integer_constant(Compilation& c, Width width, Int128 value) {
  std::uint64_t words[2] = {static_cast<std::uint64_t>(value),
                            static_cast<std::uint64_t>(static_cast<Uint128>(value) >> 64)};
  auto* type = llvm::cast<llvm::IntegerType>(data_type(c, width));
  return llvm::ConstantInt::get(type, llvm::APInt(128, words).trunc(type->getBitWidth()));
}

// Calls a runtime function on halves of 128-bit values; the result comes back through memory.
llvm::Value* call_wide(Compilation& c, const std::string& name, llvm::Value* a, llvm::Value* b) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* result = c.module().create_entry_alloca(ir.getInt128Ty(), "wide");
  auto low = [&](llvm::Value* v) { return ir.CreateTrunc(v, ir.getInt64Ty()); };
  auto high = [&](llvm::Value* v) { return ir.CreateTrunc(ir.CreateLShr(v, 64), ir.getInt64Ty()); };
  c.call(name, ir.getVoidTy(), {low(a), high(a), low(b), high(b), result});
  return ir.CreateLoad(ir.getInt128Ty(), result);
}

llvm::Value* checked(Compilation& c, llvm::Intrinsic::ID operation, llvm::Value* a, llvm::Value* b) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* both = ir.CreateIntrinsic(operation, {a->getType()}, {a, b});
  emit_if(c, ir.CreateExtractValue(both, 1), [&] { c.call("weft_rt_fail_overflow", ir.getVoidTy(), {}); });
  return ir.CreateExtractValue(both, 0);
}

llvm::Value* operate(Compilation& c, const ArithmeticExpr& expr, Width width, llvm::Value* a,
                     llvm::Value* b) {
  jit::TrackedBuilder& ir = c.ir();
  switch (expr.op) {
    case ArithmeticOp::kAdd:
      return expr.may_overflow ? checked(c, llvm::Intrinsic::sadd_with_overflow, a, b)
                               : ir.CreateNSWAdd(a, b);
    case ArithmeticOp::kSubtract:
      return expr.may_overflow ? checked(c, llvm::Intrinsic::ssub_with_overflow, a, b)
                               : ir.CreateNSWSub(a, b);
    default:
      if (!expr.may_overflow) return ir.CreateNSWMul(a, b);
      // LLVM would call a library of its own for the checked product of 128 bits.
      return width == Width::k128 ? call_wide(c, "weft_rt_multiply128", a, b)
                                  : checked(c, llvm::Intrinsic::smul_with_overflow, a, b);
  }
}

// Rounded half away from zero: truncated, then moved by one where twice the rest reaches the divisor.
llvm::Value* divide_rounded(Compilation& c, llvm::Value* a, llvm::Value* b) {
  jit::TrackedBuilder& ir = c.ir();
  llvm::Value* zero = llvm::Constant::getNullValue(a->getType());
  llvm::Value* quotient = ir.CreateSDiv(a, b);
  llvm::Value* rest = ir.CreateNSWSub(a, ir.CreateMul(quotient, b));
  auto magnitude = [&](llvm::Value* v) {
    return ir.CreateSelect(ir.CreateICmpSLT(v, zero), ir.CreateNeg(v), v);
  };
  llvm::Value* far = ir.CreateICmpUGE(ir.CreateShl(magnitude(rest), 1), magnitude(b));
  llvm::Value* negative = ir.CreateICmpSLT(ir.CreateXor(a, b), zero);
  llvm::Value* one = llvm::ConstantInt::get(a->getType(), 1);
  llvm::Value* step = ir.CreateSelect(negative, llvm::ConstantInt::getSigned(a->getType(), -1), one);
  return ir.CreateAdd(quotient, ir.CreateSelect(far, step, zero));
}

SqlValue emit_divide(Compilation& c, const ArithmeticExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  SqlValue left = emit_expression(c, *expr.children[0]);
  SqlValue right = emit_expression(c, *expr.children[1]);
  Width work = wider(wider(expr.work, expr.children[0]->width()), expr.children[1]->width());
  llvm::Value* a = to_width(c, left.data, work);
  llvm::Value* b = to_width(c, right.data, work);
  if (expr.shift > 0) a = ir.CreateMul(a, integer_constant(c, work, power_of_ten(expr.shift)));
  llvm::Value* by_zero = ir.CreateICmpEQ(b, llvm::Constant::getNullValue(b->getType()));
  b = ir.CreateSelect(by_zero, llvm::ConstantInt::get(b->getType(), 1), b);
  llvm::Value* quotient =
      work == Width::k128 ? call_wide(c, "weft_rt_divide128", a, b) : divide_rounded(c, a, b);
  llvm::Value* null = either_null(c, either_null(c, left.null, right.null), by_zero);
  return {to_width(c, quotient, expr.width()), nullptr, null};
}

}  // namespace

SqlValue emit_arithmetic(Compilation& c, const ArithmeticExpr& expr) {
  if (expr.op == ArithmeticOp::kDivide) return emit_divide(c, expr);
  SqlValue left = emit_expression(c, *expr.children[0]);
  SqlValue right = emit_expression(c, *expr.children[1]);
  // A result may be proven narrower than its operands.
  Width work = wider(expr.width(), wider(expr.children[0]->width(), expr.children[1]->width()));
  llvm::Value* result = operate(c, expr, work, to_width(c, left.data, work), to_width(c, right.data, work));
  return {to_width(c, result, expr.width()), nullptr, either_null(c, left.null, right.null)};
}

SqlValue emit_cast(Compilation& c, const CastExpr& expr) {
  jit::TrackedBuilder& ir = c.ir();
  const Expr& from = *expr.children[0];
  SqlValue value = emit_expression(c, from);
  if (from.width() == Width::k8 && expr.width() == Width::kString) {
    // A text of one byte needs a place: the byte's in a table of all bytes.
    std::string all(256, '\0');
    for (int i = 0; i < 256; ++i) all[static_cast<std::size_t>(i)] = static_cast<char>(i);
    llvm::Value* table = ir.CreateGlobalString(all, "bytes");
    llvm::Value* place =
        ir.CreateInBoundsGEP(ir.getInt8Ty(), table, ir.CreateZExt(value.data, ir.getInt64Ty()));
    return {place, ir.getInt64(1), value.null};
  }
  if (!expr.type.has_range()) return value;
  Width work = wider(expr.width(), from.width());
  llvm::Value* data = to_width(c, value.data, work);
  if (from.type.is_numeric() && expr.scale_difference() > 0) {
    data = ir.CreateNSWMul(data, integer_constant(c, work, power_of_ten(expr.scale_difference())));
  }
  return {to_width(c, data, expr.width()), nullptr, value.null};
}

SqlValue emit_year(Compilation& c, const ExtractYearExpr& expr) {
  // Days since 1970 to the year of the civil calendar, counting years from March so that leap days come last.
  jit::TrackedBuilder& ir = c.ir();
  SqlValue date = emit_expression(c, *expr.children[0]);
  auto n = [&](std::int32_t value) { return ir.getInt32(static_cast<std::uint32_t>(value)); };
  llvm::Value* days = ir.CreateAdd(to_width(c, date.data, Width::k32), n(719468));
  llvm::Value* floored = ir.CreateSelect(ir.CreateICmpSLT(days, n(0)), ir.CreateSub(days, n(146096)), days);
  llvm::Value* era = ir.CreateSDiv(floored, n(146097));
  llvm::Value* day_of_era = ir.CreateSub(days, ir.CreateMul(era, n(146097)));
  auto part = [&](llvm::Value* value, std::int32_t divisor) { return ir.CreateUDiv(value, n(divisor)); };
  llvm::Value* leap_corrected =
      ir.CreateSub(ir.CreateAdd(ir.CreateSub(day_of_era, part(day_of_era, 1460)), part(day_of_era, 36524)),
                   part(day_of_era, 146096));
  llvm::Value* year_of_era = part(leap_corrected, 365);
  llvm::Value* first_day = ir.CreateSub(ir.CreateAdd(ir.CreateMul(year_of_era, n(365)), part(year_of_era, 4)),
                                        part(year_of_era, 100));
  llvm::Value* day_of_year = ir.CreateSub(day_of_era, first_day);
  llvm::Value* january_or_february = ir.CreateICmpUGE(day_of_year, n(306));
  llvm::Value* year = ir.CreateAdd(year_of_era, ir.CreateMul(era, n(400)));
  year = ir.CreateAdd(year, ir.CreateZExt(january_or_february, ir.getInt32Ty()));
  return {to_width(c, year, expr.width()), nullptr, date.null};
}

}  // namespace tailor::weft
