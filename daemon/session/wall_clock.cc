#include "daemon/session/wall_clock.h"

#include <cstdlib>

namespace tailor::session {
namespace {

constexpr TimeNs kLookInterval = 1'000'000'000;
// Clocks of other rates drift apart by this in minutes; who sets a clock sets it by more.
constexpr std::int64_t kSlack = 10'000'000;

}  // namespace

std::optional<std::uint64_t> WallClock::look(TimeNs start, std::uint64_t known_ns) {
  const TimeNs before = os_.now();
  if (before < next_look_) return std::nullopt;
  next_look_ = before + kLookInterval;
  const TimeNs wall = os_.wall_clock();
  const TimeNs after = os_.now();
  if (after - before > kSlack) return std::nullopt;  // interrupted: the next look is better
  const std::int64_t at_start = wall - (before + (after - before) / 2 - start);
  const auto known = static_cast<std::int64_t>(known_ns);
  if (at_start <= 0 || std::abs(at_start - known) <= kSlack) return std::nullopt;
  return static_cast<std::uint64_t>(at_start);
}

}  // namespace tailor::session
