#include "daemon/session/redraw.h"

#include <gtest/gtest.h>

#include "daemon/capture/select/jitter.h"

namespace tailor::session {
namespace {

TEST(NextRedraw, IsOnlyOfPeriodsThatAreDrawn) {
  capture::CaptureOptions options;
  options.jitter = true;
  EXPECT_EQ(next_redraw(options, 5), kTimeMax) << "no events";
  capture::EventSpec event;
  event.mechanism = capture::Mechanism::kTimer;
  event.unit = profile::Unit::kNsOnCpu;
  event.period = 1'000'000;
  options.events.push_back(event);
  ASSERT_TRUE(capture::is_jittered(event));
  const TimeNs next = next_redraw(options, 5);
  EXPECT_LT(next, kTimeMax);
  EXPECT_GT(next, 5 + capture::redraw_after(event)) << "seldom";
  EXPECT_EQ(next_redraw(options, 105), next + 100);
  options.jitter = false;
  EXPECT_EQ(next_redraw(options, 5), kTimeMax);
}

}  // namespace
}  // namespace tailor::session
