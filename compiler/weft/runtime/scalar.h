// Functions on single values that generated code calls: texts, wide decimals, injected cost, failures.
#pragma once

#include <cstdint>

extern "C" {
// Less than, equal to or greater than zero; bytes compare as unsigned, a prefix comes first.
std::int32_t weft_rt_text_compare(const char* a, std::uint64_t a_bytes, const char* b, std::uint64_t b_bytes);
// Texts of the same length.
bool weft_rt_text_equal(const char* a, const char* b, std::uint64_t bytes);
std::uint64_t weft_rt_text_hash(const char* text, std::uint64_t bytes);
// `pattern` is a tailor::weft::LikePattern.
bool weft_rt_like(const void* pattern, const char* text, std::uint64_t bytes);

// 128-bit values travel as halves; the result is written to result[0] (low), result[1] (high).
// Rounded half away from zero; the divisor is not zero.
void weft_rt_divide128(std::uint64_t a_low, std::uint64_t a_high, std::uint64_t b_low, std::uint64_t b_high,
                       std::uint64_t* result);
// Throws QueryError when the product leaves 128 bits.
void weft_rt_multiply128(std::uint64_t a_low, std::uint64_t a_high, std::uint64_t b_low, std::uint64_t b_high,
                         std::uint64_t* result);

// Works for `rounds` steps of about a nanosecond, at most kMostBurnRounds, and gives `value` back.
enum { kMostBurnRounds = 4096 };
std::uint64_t weft_rt_burn(std::uint64_t value, std::uint64_t rounds);

[[noreturn]] void weft_rt_fail_overflow(void);
}
