// What becomes of the samples of a process: its states, and what leads from one to another.
#pragma once

#include <cstdint>
#include <optional>

namespace tailor::session {

// A closing process has events that are closed, and whose last records the reader has still to hand over.
enum class SamplingState : std::uint8_t {
  kUnsampled,  // nobody wants samples of it; or there can be none, and `why not` says why
  kSampling,   // its events are open
  kReopening,  // closing: others will be opened in their place
  kPausing,    // closing: it is paused then
  kLeaving,    // closing: it goes on without samples
  kIgnoring,   // closing: it is ignored then
  kPaused,     // until somebody resumes it
  kIgnored,    // the rules of the configuration say so, until they or the process change
  kRefused,    // a rule chooses it, and it cannot be sampled: no rule tries again
};
inline constexpr std::uint8_t kSamplingStates = 9;

enum class SamplingEvent : std::uint8_t {
  kOpen,     // its events are open
  kReopen,   // they are to be opened anew
  kPause,    // somebody pauses it, or everything
  kLeave,    // nobody wants samples of it any more
  kIgnore,   // the rules ignore it
  kRefuse,   // a rule chose it, and it cannot be sampled
  kClosed,   // the last records of its events have come
  kRelease,  // it is resumed, or not ignored or refused any more
};
inline constexpr std::uint8_t kSamplingEvents = 8;

// Nothing: the event means nothing in that state, and changes nothing.
std::optional<SamplingState> next_state(SamplingState state, SamplingEvent event);

inline bool is_closing(SamplingState state) {
  return state == SamplingState::kReopening || state == SamplingState::kPausing ||
         state == SamplingState::kLeaving || state == SamplingState::kIgnoring;
}

}  // namespace tailor::session
