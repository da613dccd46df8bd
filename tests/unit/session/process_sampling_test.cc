#include "daemon/session/process_sampling.h"

#include <gtest/gtest.h>

namespace tailor::session {
namespace {

TEST(ProcessSampling, NeverGoesBack) {
  ProcessSampling each({1, 1}, 1);
  EXPECT_TRUE(each.is_sampling());
  EXPECT_TRUE(each.reopen(5));
  EXPECT_FALSE(each.reopen(6));
  EXPECT_EQ(each.reopened(), 5);
  EXPECT_TRUE(each.pause());
  EXPECT_FALSE(each.reopen(7));
  EXPECT_EQ(each.state(), SamplingState::kPausing);
  EXPECT_TRUE(each.leave());
  EXPECT_FALSE(each.pause());
  EXPECT_FALSE(each.leave());
  EXPECT_EQ(each.state(), SamplingState::kLeaving);
  EXPECT_EQ(each.reopened(), 5);
}

TEST(ProcessSampling, MayLeaveAtOnce) {
  ProcessSampling each({1, 1}, 1);
  EXPECT_TRUE(each.leave());
  EXPECT_FALSE(each.is_sampling());
  EXPECT_FALSE(each.reopen(5));
}

}  // namespace
}  // namespace tailor::session
