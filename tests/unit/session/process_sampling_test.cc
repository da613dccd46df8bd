#include "daemon/session/process_sampling.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

constexpr ProcessId kSampled{1, 1};

ProcessSampling opened(ProcessStates& states) {
  ProcessSampling each(kSampled, 1, states);
  EXPECT_TRUE(each.apply(SamplingEvent::kOpen));
  return each;
}

TEST(ProcessSampling, NeverGoesBack) {
  ProcessStates states;
  ProcessSampling each = opened(states);
  EXPECT_TRUE(each.is_sampling());
  EXPECT_TRUE(each.reopen(5));
  EXPECT_FALSE(each.reopen(6));
  EXPECT_EQ(each.reopened(), 5);
  EXPECT_TRUE(each.apply(SamplingEvent::kPause));
  EXPECT_FALSE(each.reopen(7));
  EXPECT_EQ(each.state(), SamplingState::kPausing);
  EXPECT_TRUE(each.apply(SamplingEvent::kLeave));
  EXPECT_FALSE(each.apply(SamplingEvent::kPause));
  EXPECT_FALSE(each.apply(SamplingEvent::kLeave));
  EXPECT_EQ(each.state(), SamplingState::kLeaving);
  EXPECT_EQ(each.reopened(), 5);
}

TEST(ProcessSampling, MayLeaveAtOnce) {
  ProcessStates states;
  ProcessSampling each = opened(states);
  EXPECT_TRUE(each.apply(SamplingEvent::kLeave));
  EXPECT_FALSE(each.is_sampling());
  EXPECT_FALSE(each.reopen(5));
}

}  // namespace
}  // namespace tailor::session
