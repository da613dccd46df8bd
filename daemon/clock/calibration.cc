#include "daemon/clock/calibration.h"

#include <algorithm>

namespace tailor::clock {
namespace {

using Wide = __int128;

// 2^-40 ns a tick: an hour of a 4 GHz counter is off by 13 ns at most.
constexpr std::uint32_t kShift = 40;
// A rate from before a break may be wrong by what the kernel tolerates of its own early calibration.
constexpr std::uint64_t kUnknownRatePpb = 1'000'000;

}  // namespace

Calibration::Verdict Calibration::add(const Pair& pair) {
  if (pair.before > pair.after) return Verdict::kRejected;
  Verdict verdict = Verdict::kFits;
  if (!pairs_.empty()) {
    const Pair& last = pairs_.back();
    if (pair.before < last.after) {
      verdict = Verdict::kTscReset;
    } else if (pair.raw_ns < last.raw_ns) {
      return Verdict::kRejected;
    } else if (!fits(pair)) {
      verdict = Verdict::kBreak;
    }
  }
  if (verdict != Verdict::kFits) {
    pairs_.clear();
    drift_ppb_ = kUnknownRatePpb;
  }
  if (pairs_.size() == kWindow) pairs_.pop_front();
  pairs_.push_back(pair);
  update_rate();
  return verdict;
}

std::uint64_t Calibration::half_width_ns(const Pair& pair) const {
  const Wide ticks = static_cast<Wide>(pair.after - pair.before) / 2 + 1;
  return static_cast<std::uint64_t>((ticks * mult_ >> kShift) + 2);  // two truncations to whole ns
}

bool Calibration::fits(const Pair& pair) const {
  // After a break one pair is left, and the rate it goes with may be gone for good: two make a new line.
  if (pairs_.size() < 2) return true;
  const auto predicted = line();
  if (!predicted) return true;
  const Wide off = static_cast<Wide>(to_ns(*predicted, pair.middle())) - pair.raw_ns;
  const std::uint64_t bound = error_bound_ns(*predicted, pair.middle()) + half_width_ns(pair) + kSlackNs;
  return (off < 0 ? -off : off) <= bound;
}

void Calibration::update_rate() {
  if (pairs_.size() < 2) return;
  const Pair& first = pairs_.front();
  const Pair& last = pairs_.back();
  const std::uint64_t ticks = last.middle() - first.middle();
  const TimeNs ns = last.raw_ns - first.raw_ns;
  if (ns <= 0 || ticks == 0) return;
  mult_ = static_cast<std::uint64_t>((static_cast<Wide>(ns) << kShift) / ticks);
  const Wide uncertain = half_width_ns(first) + half_width_ns(last);
  drift_ppb_ = static_cast<std::uint64_t>(std::min<Wide>(uncertain * kPpb / ns + 1, kUnknownRatePpb));
}

std::optional<Conversion> Calibration::line() const {
  if (mult_ == 0) return std::nullopt;
  const Pair& last = pairs_.back();
  return Conversion{.from_tsc = last.middle(),
                    .base_ns = last.raw_ns,
                    .mult = mult_,
                    .shift = kShift,
                    .source = Source::kCalibration,
                    .trusted = false,
                    .error_ns = half_width_ns(last),
                    .drift_ppb = drift_ppb_};
}

std::optional<Conversion> Calibration::line_with_rate(std::uint64_t mult, std::uint32_t shift) const {
  if (pairs_.empty()) return std::nullopt;
  const Pair& last = pairs_.back();
  const Conversion rate{.from_tsc = last.middle(), .mult = mult, .shift = shift};
  // base lies where every pair has line(before) <= raw <= line(after).
  Wide low = kTimeMin, high = kTimeMax;
  for (const Pair& pair : pairs_) {
    low = std::max(low, static_cast<Wide>(pair.raw_ns) - to_ns(rate, pair.after) - 1);
    high = std::min(high, static_cast<Wide>(pair.raw_ns) - to_ns(rate, pair.before) + 1);
  }
  if (low > high) return std::nullopt;
  Conversion line = rate;
  line.base_ns = static_cast<TimeNs>((low + high) / 2);
  line.error_ns = static_cast<std::uint64_t>((high - low) / 2 + 1);
  return line;
}

std::uint64_t Calibration::span() const {
  return pairs_.empty() ? 0 : pairs_.back().middle() - pairs_.front().middle();
}

}  // namespace tailor::clock
