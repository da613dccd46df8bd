#include "compiler/weft/types/range.h"

namespace tailor::weft {
namespace {

// Saturating operations: an interval's end stays at the end of what 128 bits can hold.
Int128 saturated_add(Int128 a, Int128 b, bool* overflow) {
  Int128 result;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  *overflow = true;
  return a < 0 ? kInt128Min : kInt128Max;
}

Int128 saturated_multiply(Int128 a, Int128 b, bool* overflow) {
  Int128 result;
  if (!__builtin_mul_overflow(a, b, &result)) return result;
  *overflow = true;
  return (a < 0) != (b < 0) ? kInt128Min : kInt128Max;
}

Int128 saturated_negate(Int128 a, bool* overflow) {
  if (a != kInt128Min) return -a;
  *overflow = true;
  return kInt128Max;
}

}  // namespace

RangeResult add(const Range& a, const Range& b) {
  RangeResult result;
  result.range.min = saturated_add(a.min, b.min, &result.may_overflow);
  result.range.max = saturated_add(a.max, b.max, &result.may_overflow);
  return result;
}

RangeResult subtract(const Range& a, const Range& b) {
  bool overflow = false;
  Range negated{saturated_negate(b.max, &overflow), saturated_negate(b.min, &overflow)};
  RangeResult result = add(a, negated);
  result.may_overflow |= overflow;
  return result;
}

RangeResult multiply(const Range& a, const Range& b) {
  RangeResult result;
  const Int128 corners[] = {saturated_multiply(a.min, b.min, &result.may_overflow),
                            saturated_multiply(a.min, b.max, &result.may_overflow),
                            saturated_multiply(a.max, b.min, &result.may_overflow),
                            saturated_multiply(a.max, b.max, &result.may_overflow)};
  result.range = {*std::min_element(std::begin(corners), std::end(corners)),
                  *std::max_element(std::begin(corners), std::end(corners))};
  return result;
}

Range divide(const Range& a, const Range& b) {
  // The quotient's magnitude is at most the dividend's over the smallest non-zero divisor's.
  bool overflow = false;
  Int128 magnitude = std::max({saturated_negate(a.min, &overflow), a.max, static_cast<Int128>(0)});
  Int128 smallest = 1;
  if (b.min > 0) smallest = b.min;
  if (b.max < 0) smallest = saturated_negate(b.max, &overflow);
  // Rounding away from zero can add one, but never when the divisor is 1.
  Int128 bound = smallest == 1 ? magnitude : magnitude / smallest + 1;
  return {a.min >= 0 && b.min >= 0 ? 0 : -bound, bound};
}

}  // namespace tailor::weft
