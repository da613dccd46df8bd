#include "daemon/capture/select/jitter.h"

#include <algorithm>
#include <cmath>

namespace tailor::capture {
namespace {

// The kernel's least period of a timer (perf_swevent_hrtimer()): it rounds up, and the weight must not.
constexpr std::uint64_t kLeastTimerPeriod = 10'000;
// IBS ignores the lowest four bits, and has a least period.
constexpr std::uint64_t kIbsStep = 16, kLeastIbsPeriod = 0x90;

// Of periods that are drawn evenly from 1 - j to 1 + j times one, the number of samples is ln((1 + j) / (1 -
// j)) / 2j times as large as with that one: so much longer they are.
const double kSameRate = std::log((1 + kJitter) / (1 - kJitter)) / (2 * kJitter);

std::uint64_t least_period(const EventSpec& spec) {
  if (spec.mechanism == Mechanism::kTimer) return kLeastTimerPeriod;
  return spec.mechanism == Mechanism::kIbs ? kLeastIbsPeriod : 1;
}

}  // namespace

std::uint64_t longest_period(const EventSpec& spec) {
  if (!is_jittered(spec)) return spec.period;
  return static_cast<std::uint64_t>(static_cast<double>(spec.period) * kSameRate * (1 + kJitter)) + 1;
}

bool is_jittered(const EventSpec& spec) {
  return spec.period > 1 && spec.unit != profile::Unit::kNsOffCpu;
}

TimeNs redraw_after(const EventSpec& spec) {
  if (spec.unit != profile::Unit::kNsOnCpu) return kLeastRedraw;
  const std::uint64_t longest = std::min<std::uint64_t>(spec.period, 1'000'000'000'000);
  return std::max(kLeastRedraw, static_cast<TimeNs>(longest * kRedrawPeriods));
}

std::uint64_t PeriodDraw::draw(const EventSpec& spec) {
  if (!is_jittered(spec)) return spec.period;
  // Not std::uniform_real_distribution: what it draws is not the same everywhere.
  const double even = static_cast<double>(random_() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
  const double drawn = static_cast<double>(spec.period) * kSameRate * (1 - kJitter + 2 * kJitter * even);
  auto period = static_cast<std::uint64_t>(std::max(drawn + 0.5, 1.0));
  if (spec.mechanism == Mechanism::kIbs) period = period / kIbsStep * kIbsStep;
  return std::max(period, least_period(spec));
}

}  // namespace tailor::capture
