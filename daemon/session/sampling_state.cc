#include "daemon/session/sampling_state.h"

#include <algorithm>
#include <iterator>

namespace tailor::session {
namespace {

using State = SamplingState;
using Event = SamplingEvent;

struct Transition {
  State from;
  Event event;
  State to;
};

// What is being closed never goes back: leaving outweighs a pause, and both outweigh to be opened anew.
constexpr Transition kTransitions[] = {
    {State::kUnsampled, Event::kOpen, State::kSampling},
    {State::kUnsampled, Event::kPause, State::kPaused},
    {State::kUnsampled, Event::kIgnore, State::kIgnored},
    {State::kUnsampled, Event::kRefuse, State::kRefused},
    {State::kSampling, Event::kReopen, State::kReopening},
    {State::kSampling, Event::kPause, State::kPausing},
    {State::kSampling, Event::kLeave, State::kLeaving},
    {State::kSampling, Event::kIgnore, State::kIgnoring},
    {State::kSampling, Event::kClosed, State::kUnsampled},
    {State::kReopening, Event::kPause, State::kPausing},
    {State::kReopening, Event::kLeave, State::kLeaving},
    {State::kReopening, Event::kIgnore, State::kIgnoring},
    {State::kReopening, Event::kClosed, State::kUnsampled},
    {State::kPausing, Event::kLeave, State::kLeaving},
    {State::kPausing, Event::kClosed, State::kPaused},
    {State::kLeaving, Event::kClosed, State::kUnsampled},
    {State::kIgnoring, Event::kClosed, State::kIgnored},
    {State::kPaused, Event::kRelease, State::kUnsampled},
    {State::kIgnored, Event::kRelease, State::kUnsampled},
    {State::kIgnored, Event::kOpen, State::kSampling},
    {State::kIgnored, Event::kPause, State::kPaused},
    {State::kRefused, Event::kRelease, State::kUnsampled},
    {State::kRefused, Event::kOpen, State::kSampling},
    {State::kRefused, Event::kPause, State::kPaused},
    {State::kRefused, Event::kIgnore, State::kIgnored},
};

}  // namespace

std::optional<SamplingState> next_state(SamplingState state, SamplingEvent event) {
  const auto found = std::ranges::find_if(
      kTransitions, [&](const Transition& each) { return each.from == state && each.event == event; });
  return found == std::end(kTransitions) ? std::nullopt : std::optional(found->to);
}

}  // namespace tailor::session
