#include "daemon/capture/select/jitter.h"

#include <algorithm>
#include <array>

namespace tailor::capture {
namespace {

// The kernel's least period of a timer (perf_swevent_hrtimer()): it rounds up, and the weight must not.
constexpr std::uint64_t kLeastTimerPeriod = 10'000;
// IBS ignores the lowest four bits, and has a least period.
constexpr std::uint64_t kIbsStep = 16, kLeastIbsPeriod = 0x90;

// The density of a drawn rate falls in these steps; on average it is 1. Each goes from the end of the one
// before, the first from kLowestRate, and is drawn so often.
struct Step {
  double end, share;
};
constexpr std::array<Step, 3> kSteps = {{{1, 0.6}, {1.5, 0.3}, {kHighestRate, 0.1}}};

constexpr std::uint64_t kLongestPeriod = 1'000'000'000'000;

std::uint64_t least_period(const EventSpec& spec) {
  if (spec.mechanism == Mechanism::kTimer) return kLeastTimerPeriod;
  return spec.mechanism == Mechanism::kIbs ? kLeastIbsPeriod : 1;
}

// The rate, in terms of the one asked for, of which there is a part `even` of lower ones.
double rate_of(double even) {
  double begin = kLowestRate;
  for (const Step& step : kSteps) {
    if (even < step.share) return begin + (step.end - begin) * even / step.share;
    even -= step.share;
    begin = step.end;
  }
  return kHighestRate;
}

// As the hardware or the kernel can have it.
std::uint64_t period_of(const EventSpec& spec, double rate) {
  const double exact = static_cast<double>(spec.period) / rate;
  auto period = static_cast<std::uint64_t>(std::max(exact + 0.5, 1.0));
  if (spec.mechanism == Mechanism::kIbs) period = period / kIbsStep * kIbsStep;
  return std::max(period, least_period(spec));
}

}  // namespace

std::uint64_t longest_period(const EventSpec& spec) {
  if (!is_jittered(spec)) return spec.period;
  return static_cast<std::uint64_t>(static_cast<double>(spec.period) / kLowestRate) + 1;
}

bool is_jittered(const EventSpec& spec) {
  return spec.period > 1 && spec.unit != profile::Unit::kNsOffCpu;
}

TimeNs redraw_after(const EventSpec& spec) {
  if (spec.unit != profile::Unit::kNsOnCpu) return kLongRedraw;
  const auto period = static_cast<TimeNs>(std::min(spec.period, kLongestPeriod));
  const TimeNs many = period * static_cast<TimeNs>(kPeriodsToLose);
  const TimeNs few = period * static_cast<TimeNs>(kFewPeriods);
  return std::max({kLeastRedraw, few, std::min(kLongRedraw, many)});
}

TimeNs turn_of(const EventSpec& spec) {
  if (spec.unit != profile::Unit::kNsOnCpu) return kLeastRedraw;
  const auto period = static_cast<TimeNs>(std::min(spec.period, kLongestPeriod));
  return std::max(kLeastRedraw, period * static_cast<TimeNs>(kFewPeriods));
}

// In [0, 1). Not std::uniform_real_distribution: what it draws is not the same everywhere.
double PeriodDraw::even() {
  return static_cast<double>(random_() >> 11) / static_cast<double>(std::uint64_t{1} << 53);
}

std::uint64_t PeriodDraw::draw(const EventSpec& spec) {
  return is_jittered(spec) ? period_of(spec, rate_of(even())) : spec.period;
}

PeriodDraw::Pair PeriodDraw::draw_pair(const EventSpec& spec) {
  if (!is_jittered(spec)) return {spec.period, spec.period};
  const double drawn = even();
  return {period_of(spec, rate_of(drawn)), period_of(spec, rate_of(1 - drawn))};
}

}  // namespace tailor::capture
