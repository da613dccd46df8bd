#include "daemon/clock/kernel_rate.h"

namespace tailor::clock {
namespace {

constexpr std::uint64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kRangeSeconds = 600;

}  // namespace

std::uint64_t khz_of_perf_rate(std::uint32_t mult, std::uint32_t shift) {
  if (mult == 0 || shift > 43) return 0;  // kNsPerMs needs 20 bits
  return ((kNsPerMs << shift) + mult / 2) / mult;
}

Rate clocksource_rate(std::uint64_t khz) {
  if (khz == 0 || khz > UINT32_MAX) return {};
  // 600 s of ticks must not overflow 64 bits when multiplied: mult gets what they leave over.
  std::uint32_t mult_bits = 32;
  for (std::uint64_t high = (kRangeSeconds * 1000 * khz) >> 32; high != 0; high >>= 1) --mult_bits;
  for (std::uint32_t shift = 32; shift > 0; --shift) {
    const std::uint64_t mult = ((kNsPerMs << shift) + khz / 2) / khz;
    if (mult >> mult_bits != 0) continue;
    // NTP may speed a clocksource up by 11 %: the kernel halves a mult that would then overflow 32 bits.
    const std::uint64_t fastest = mult + mult * 11 / 100;
    return fastest > UINT32_MAX ? Rate{mult >> 1, shift - 1} : Rate{mult, shift};
  }
  return {};
}

}  // namespace tailor::clock
