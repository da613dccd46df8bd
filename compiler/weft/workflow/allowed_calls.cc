#include "compiler/weft/workflow/allowed_calls.h"

#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace tailor::weft::workflow {
namespace {

// By the number of arguments. Each has a form for float too, with "f" at its end. What writes errno, a global
// variable or memory is not among them; errno itself does not count, as nobody reads it.
constexpr std::array<std::string_view, 32> kUnary = {
    "acos",      "acosh", "asin",  "asinh", "atan", "atanh", "cbrt", "ceil",  "cos",    "cosh", "erf",
    "erfc",      "exp",   "exp2",  "expm1", "fabs", "floor", "log",  "log10", "log1p",  "log2", "logb",
    "nearbyint", "rint",  "round", "sin",   "sinh", "sqrt",  "tan",  "tanh",  "tgamma", "trunc"};
constexpr std::array<std::string_view, 8> kBinary = {"atan2", "copysign", "fdim",  "fmax",
                                                     "fmin",  "fmod",     "hypot", "pow"};
constexpr const char* kNames =
    "acos, acosh, asin, asinh, atan, atan2, atanh, cbrt, ceil, copysign, cos, cosh, erf, erfc, exp, exp2, "
    "expm1, fabs, "
    "fdim, floor, fma, fmax, fmin, fmod, hypot, log, log10, log1p, log2, logb, nearbyint, pow, rint, round, "
    "sin, sinh, "
    "sqrt, tan, tanh, tgamma, trunc";

template <std::size_t kCount>
bool has_name(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

unsigned arguments_of_math(std::string_view name) {
  if (has_name(kUnary, name)) return 1;
  if (has_name(kBinary, name)) return 2;
  return name == "fma" ? 3 : 0;
}

}  // namespace

bool is_allowed_intrinsic(llvm::Intrinsic::ID id) {
  namespace Intrinsic = llvm::Intrinsic;
  switch (id) {
    // Values of one or two numbers.
    case Intrinsic::abs:
    case Intrinsic::acos:
    case Intrinsic::asin:
    case Intrinsic::atan:
    case Intrinsic::bitreverse:
    case Intrinsic::bswap:
    case Intrinsic::canonicalize:
    case Intrinsic::ceil:
    case Intrinsic::copysign:
    case Intrinsic::cos:
    case Intrinsic::cosh:
    case Intrinsic::ctlz:
    case Intrinsic::ctpop:
    case Intrinsic::cttz:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::fabs:
    case Intrinsic::floor:
    case Intrinsic::fma:
    case Intrinsic::fmuladd:
    case Intrinsic::fshl:
    case Intrinsic::fshr:
    case Intrinsic::is_fpclass:
    case Intrinsic::ldexp:
    case Intrinsic::llrint:
    case Intrinsic::llround:
    case Intrinsic::log:
    case Intrinsic::log10:
    case Intrinsic::log2:
    case Intrinsic::lrint:
    case Intrinsic::lround:
    case Intrinsic::maximum:
    case Intrinsic::maxnum:
    case Intrinsic::minimum:
    case Intrinsic::minnum:
    case Intrinsic::nearbyint:
    case Intrinsic::pow:
    case Intrinsic::powi:
    case Intrinsic::rint:
    case Intrinsic::round:
    case Intrinsic::roundeven:
    case Intrinsic::sin:
    case Intrinsic::sinh:
    case Intrinsic::smax:
    case Intrinsic::smin:
    case Intrinsic::sqrt:
    case Intrinsic::tan:
    case Intrinsic::tanh:
    case Intrinsic::trunc:
    case Intrinsic::umax:
    case Intrinsic::umin:
    // Arithmetic that says whether it fits, or stays at the end of the range.
    case Intrinsic::sadd_sat:
    case Intrinsic::sadd_with_overflow:
    case Intrinsic::smul_with_overflow:
    case Intrinsic::ssub_sat:
    case Intrinsic::ssub_with_overflow:
    case Intrinsic::uadd_sat:
    case Intrinsic::uadd_with_overflow:
    case Intrinsic::umul_with_overflow:
    case Intrinsic::usub_sat:
    case Intrinsic::usub_with_overflow:
    // Of front ends that write vectors.
    case Intrinsic::vector_reduce_add:
    case Intrinsic::vector_reduce_and:
    case Intrinsic::vector_reduce_fadd:
    case Intrinsic::vector_reduce_fmax:
    case Intrinsic::vector_reduce_fmin:
    case Intrinsic::vector_reduce_fmul:
    case Intrinsic::vector_reduce_mul:
    case Intrinsic::vector_reduce_or:
    case Intrinsic::vector_reduce_smax:
    case Intrinsic::vector_reduce_smin:
    case Intrinsic::vector_reduce_umax:
    case Intrinsic::vector_reduce_umin:
    case Intrinsic::vector_reduce_xor:
    // Copies.
    case Intrinsic::memcpy:
    case Intrinsic::memcpy_inline:
    case Intrinsic::memmove:
    case Intrinsic::memset:
    // What only LLVM listens to.
    case Intrinsic::assume:
    case Intrinsic::dbg_assign:
    case Intrinsic::dbg_declare:
    case Intrinsic::dbg_label:
    case Intrinsic::dbg_value:
    case Intrinsic::donothing:
    case Intrinsic::expect:
    case Intrinsic::expect_with_probability:
    case Intrinsic::experimental_noalias_scope_decl:
    case Intrinsic::is_constant:
    case Intrinsic::lifetime_end:
    case Intrinsic::lifetime_start:
    case Intrinsic::objectsize:
      return true;
    default:
      return false;
  }
}

bool calls_math(llvm::Intrinsic::ID id) {
  namespace Intrinsic = llvm::Intrinsic;
  switch (id) {
    case Intrinsic::acos:
    case Intrinsic::asin:
    case Intrinsic::atan:
    case Intrinsic::cos:
    case Intrinsic::cosh:
    case Intrinsic::exp:
    case Intrinsic::exp2:
    case Intrinsic::log:
    case Intrinsic::log10:
    case Intrinsic::log2:
    case Intrinsic::pow:
    case Intrinsic::sin:
    case Intrinsic::sinh:
    case Intrinsic::tan:
    case Intrinsic::tanh:
      return true;
    default:
      return false;
  }
}

bool is_allowed_math(const llvm::Function& function) {
  std::string_view name(function.getName().data(), function.getName().size());
  const llvm::FunctionType* type = function.getFunctionType();
  const llvm::Type* number = type->getReturnType();
  if (number->isFloatTy()) {
    if (!name.ends_with('f')) return false;
    name.remove_suffix(1);
  } else if (!number->isDoubleTy()) {
    return false;
  }
  const unsigned arguments = arguments_of_math(name);
  if (arguments == 0 || type->isVarArg() || type->getNumParams() != arguments) return false;
  return std::ranges::all_of(type->params(), [&](const llvm::Type* each) { return each == number; });
}

const char* allowed_math_names() {
  return kNames;
}

}  // namespace tailor::weft::workflow
