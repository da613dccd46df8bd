// How long the control thread sleeps between two rounds.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tailor::session {

// What the last round found, and who waits for the next one.
struct PaceFacts {
  bool idle = false;       // nobody is registered or sampled
  bool forgotten = false;  // idle for so long that all of those before is written
  bool quiet = false;      // those that are do nothing, and somebody else wakes the thread when they begin
  std::uint32_t least_log = 0;  // records of the smallest activity log
  bool awaited = false;         // somebody waits until everything up to now was attributed
  double fullest_log = 0;       // of the activity logs that were read, from 0 to 1
  double read_after_ms = 0;     // since they were read before
};

// A round costs the same whatever it finds, so there are no more than samples and reports need: they wait
// longer for each other anyway (PipelineOptions::delay).
inline constexpr int kRoundMs = 50;
inline constexpr int kShortestRoundMs = 10;
// A request wakes the thread.
inline constexpr int kIdleRoundMs = 1000, kForgottenRoundMs = 5000;
// An engine that begins to work wakes the thread by its first sample at the latest. Until then its log must
// have room: nobody writes this number of marks in a millisecond without being sampled.
inline constexpr int kMarksAMs = 32;
// A log that is fuller than this at each round does not survive a round that comes late.
inline constexpr double kFullEnough = 0.25;

// In ms. Pure.
inline int round_ms(const PaceFacts& facts) {
  if (facts.awaited) return kShortestRoundMs;
  if (facts.idle) return facts.forgotten ? kForgottenRoundMs : kIdleRoundMs;
  if (facts.quiet) {
    const auto room_ms = static_cast<int>(std::min<std::uint32_t>(facts.least_log, 1u << 20) / kMarksAMs);
    return std::clamp(room_ms, kRoundMs, kIdleRoundMs);
  }
  const double filled_in =
      facts.fullest_log <= 0 ? kRoundMs : facts.read_after_ms * kFullEnough / facts.fullest_log;
  return std::clamp(static_cast<int>(std::min<double>(filled_in, kRoundMs)), kShortestRoundMs, kRoundMs);
}

}  // namespace tailor::session
