#include "compiler/weft/runtime/scalar.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "compiler/weft/plan/expression.h"
#include "compiler/weft/runtime/query_error.h"

namespace {

using Int128 = __int128;

Int128 join(std::uint64_t low, std::uint64_t high) {
  return static_cast<Int128>(static_cast<unsigned __int128>(high) << 64 | low);
}

void split(Int128 value, std::uint64_t* result) {
  result[0] = static_cast<std::uint64_t>(value);
  result[1] = static_cast<std::uint64_t>(static_cast<unsigned __int128>(value) >> 64);
}

std::uint64_t mix(std::uint64_t x) {
  x *= UINT64_C(0x9E3779B97F4A7C15);
  return x ^ (x >> 32);
}

}  // namespace

std::int32_t weft_rt_text_compare(const char* a, std::uint64_t a_bytes, const char* b,
                                  std::uint64_t b_bytes) {
  int order = std::memcmp(a, b, std::min(a_bytes, b_bytes));
  if (order != 0) return order;
  return a_bytes < b_bytes ? -1 : a_bytes > b_bytes;
}

bool weft_rt_text_equal(const char* a, const char* b, std::uint64_t bytes) {
  return std::memcmp(a, b, bytes) == 0;
}

std::uint64_t weft_rt_text_hash(const char* text, std::uint64_t bytes) {
  std::uint64_t hash = bytes * UINT64_C(0xD6E8FEB86659FD93);
  for (; bytes >= 8; text += 8, bytes -= 8) {
    std::uint64_t word;
    std::memcpy(&word, text, 8);
    hash = mix(hash ^ word) + UINT64_C(0xA0761D6478BD642F);
  }
  std::uint64_t tail = 0;
  std::memcpy(&tail, text, bytes);
  return mix(mix(hash ^ tail));
}

bool weft_rt_like(const void* pattern, const char* text, std::uint64_t bytes) {
  return static_cast<const tailor::weft::LikePattern*>(pattern)->matches(std::string_view(text, bytes));
}

void weft_rt_divide128(std::uint64_t a_low, std::uint64_t a_high, std::uint64_t b_low, std::uint64_t b_high,
                       std::uint64_t* result) {
  Int128 a = join(a_low, a_high);
  Int128 b = join(b_low, b_high);
  bool negative = (a < 0) != (b < 0);
  auto magnitude = [](Int128 x) {
    return x < 0 ? -static_cast<unsigned __int128>(x) : static_cast<unsigned __int128>(x);
  };
  unsigned __int128 divisor = magnitude(b);
  unsigned __int128 quotient = magnitude(a) / divisor;
  unsigned __int128 rest = magnitude(a) % divisor;
  if (rest >= divisor - rest) ++quotient;
  split(negative ? -static_cast<Int128>(quotient) : static_cast<Int128>(quotient), result);
}

void weft_rt_multiply128(std::uint64_t a_low, std::uint64_t a_high, std::uint64_t b_low, std::uint64_t b_high,
                         std::uint64_t* result) {
  Int128 product;
  if (__builtin_mul_overflow(join(a_low, a_high), join(b_low, b_high), &product)) weft_rt_fail_overflow();
  split(product, result);
}

std::uint64_t weft_rt_burn(std::uint64_t value, std::uint64_t rounds) {
  // A chain of dependent multiplications by one, which the compiler cannot see through, entered so far from
  // its end as there are rounds. The rounds are to add to a run and change nothing else in it: so there is no
  // loop, whose branches would push those of other operators out of the predictor's history, and a fence on
  // either side, with zero rounds too, keeps the chain from overlapping with the cache misses of others.
  static_assert(kMostBurnRounds == 4096);
  std::uint64_t entry;
  asm volatile(
      "lfence\n\t"
      "leaq 1f(%%rip), %1\n\t"
      "leaq (,%2,4), %2\n\t"
      "subq %2, %1\n\t"
      "jmp *%1\n\t"
      ".rept 4096\n\t"
      ".byte 0x48, 0x6b, 0xc0, 0x01\n\t"  // imul $1, %rax, %rax
      ".endr\n"
      "1:\n\t"
      "lfence\n\t"
      "nop\n\t"  // where a timer's sample of the fence lands: on the instruction after it
      "nop"
      : "+a"(value), "=&r"(entry), "+r"(rounds)
      :
      : "cc", "memory");
  return value;
}

void weft_rt_fail_overflow() {
  tailor::weft::fail("numeric overflow");
}
