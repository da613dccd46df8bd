#include "daemon/session/sampling_state.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "daemon/session/process_states.h"

namespace tailor::session {
namespace {

constexpr const char* kStates[kSamplingStates] = {"unsampled", "sampling", "reopening", "pausing", "leaving",
                                                  "ignoring",  "paused",   "ignored",   "refused"};
constexpr const char* kEvents[kSamplingEvents] = {"open",   "reopen", "pause",  "leave",
                                                  "ignore", "refuse", "closed", "release"};

// The whole table. "-": the event means nothing in that state.
// clang-format off
constexpr const char* kTable[kSamplingStates][kSamplingEvents] = {
    // open       reopen       pause      leave      ignore      refuse     closed       release
    {"sampling",  "-",         "paused",  "-",       "ignored",  "refused", "-",         "-"},          // unsampled
    {"-",         "reopening", "pausing", "leaving", "ignoring", "-",       "unsampled", "-"},          // sampling
    {"-",         "-",         "pausing", "leaving", "ignoring", "-",       "unsampled", "-"},          // reopening
    {"-",         "-",         "-",       "leaving", "-",        "-",       "paused",    "-"},          // pausing
    {"-",         "-",         "-",       "-",       "-",        "-",       "unsampled", "-"},          // leaving
    {"-",         "-",         "-",       "-",       "-",        "-",       "ignored",   "-"},          // ignoring
    {"-",         "-",         "-",       "-",       "-",        "-",       "-",         "unsampled"},  // paused
    {"sampling",  "-",         "paused",  "-",       "-",        "-",       "-",         "unsampled"},  // ignored
    {"sampling",  "-",         "paused",  "-",       "ignored",  "-",       "-",         "unsampled"},  // refused
};
// clang-format on

std::string next_of(std::uint8_t state, std::uint8_t event) {
  const auto next = next_state(static_cast<SamplingState>(state), static_cast<SamplingEvent>(event));
  return next ? kStates[static_cast<std::uint8_t>(*next)] : "-";
}

TEST(SamplingState, TheTableOfTransitions) {
  for (std::uint8_t state = 0; state < kSamplingStates; ++state) {
    for (std::uint8_t event = 0; event < kSamplingEvents; ++event)
      EXPECT_EQ(next_of(state, event), kTable[state][event]) << kStates[state] << " " << kEvents[event];
  }
}

TEST(SamplingState, EachIsReachedAndNoneIsATrap) {
  const auto reached_from = [](std::uint8_t start) {
    std::set<std::uint8_t> seen = {start}, todo = {start};
    while (!todo.empty()) {
      const std::uint8_t state = todo.extract(todo.begin()).value();
      for (std::uint8_t event = 0; event < kSamplingEvents; ++event) {
        const auto next = next_state(static_cast<SamplingState>(state), static_cast<SamplingEvent>(event));
        if (next && seen.insert(static_cast<std::uint8_t>(*next)).second)
          todo.insert(static_cast<std::uint8_t>(*next));
      }
    }
    return seen;
  };
  for (std::uint8_t state = 0; state < kSamplingStates; ++state)
    EXPECT_EQ(reached_from(state).size(), kSamplingStates) << kStates[state];
}

// While events are being closed nothing else may be opened, and only their end leads on to what is at rest.
TEST(SamplingState, WhatIsClosingIsClosedFirst) {
  for (std::uint8_t state = 0; state < kSamplingStates; ++state) {
    if (!is_closing(static_cast<SamplingState>(state))) continue;
    EXPECT_EQ(next_of(state, static_cast<std::uint8_t>(SamplingEvent::kOpen)), "-") << kStates[state];
    for (std::uint8_t event = 0; event < kSamplingEvents; ++event) {
      const auto next = next_state(static_cast<SamplingState>(state), static_cast<SamplingEvent>(event));
      if (!next) continue;
      EXPECT_EQ(is_closing(*next), static_cast<SamplingEvent>(event) != SamplingEvent::kClosed);
    }
  }
}

constexpr ProcessId kFirst{1, 10}, kLater{2, 20};

TEST(ProcessStates, KeepsNothingOfWhomThereIsNothingToSay) {
  ProcessStates states;
  EXPECT_EQ(states.state(kFirst), SamplingState::kUnsampled);
  EXPECT_FALSE(states.apply(kFirst, SamplingEvent::kClosed));
  EXPECT_EQ(states.size(), 0u);
  EXPECT_TRUE(states.apply(kFirst, SamplingEvent::kOpen));
  EXPECT_TRUE(states.apply(kFirst, SamplingEvent::kClosed));
  EXPECT_EQ(states.size(), 0u);
  states.set_why_not(kFirst, "it is gone");
  EXPECT_EQ(states.why_not(kFirst), "it is gone");
  EXPECT_EQ(states.size(), 1u);
  states.forget_why_not(kFirst);
  EXPECT_EQ(states.why_not(kFirst), "");
  EXPECT_EQ(states.size(), 0u);
}

TEST(ProcessStates, APausedProcessKeepsHowItGoesOn) {
  ProcessStates states;
  Sampled how;
  how.origin.on_request = true;
  states.keep(kFirst, how);
  EXPECT_FALSE(states.kept(kFirst));  // it is not paused
  EXPECT_TRUE(states.apply(kFirst, SamplingEvent::kPause));
  states.keep(kFirst, how);
  ASSERT_TRUE(states.kept(kFirst));
  EXPECT_TRUE(states.kept(kFirst)->origin.on_request);
  states.set_why_not(kFirst, "paused");
  EXPECT_TRUE(states.apply(kFirst, SamplingEvent::kRelease));
  EXPECT_FALSE(states.kept(kFirst));
  EXPECT_EQ(states.why_not(kFirst), "paused");  // until somebody knows better
}

TEST(ProcessStates, ListsThoseInAState) {
  ProcessStates states;
  states.apply(kLater, SamplingEvent::kRefuse);
  states.apply(kFirst, SamplingEvent::kRefuse);
  EXPECT_EQ(states.in(SamplingState::kRefused), (std::vector<ProcessId>{kFirst, kLater}));
  states.apply_to_all(SamplingState::kRefused, SamplingEvent::kRelease);
  EXPECT_EQ(states.in(SamplingState::kRefused), std::vector<ProcessId>{});
  states.apply(kFirst, SamplingEvent::kIgnore);
  states.set_why_not(kFirst, "the configuration says so");
  states.forget(kFirst);
  EXPECT_EQ(states.size(), 0u);
}

}  // namespace
}  // namespace tailor::session
