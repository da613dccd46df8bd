#include "daemon/capture/host/event_probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using testing::Contains;
using testing::HasSubstr;

HostPmu with_pebs() {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/143";
  pmu.table = "spr";
  pmu.counters = true;
  pmu.max_precise = 3;
  return pmu;
}

TEST(EventProbe, AutoTakesPebsWhereItOpens) {
  test::FakeOs os;
  auto selection = select_usable_events(os, {"auto"}, 1000, with_pebs());
  ASSERT_TRUE(selection.ok()) << selection.error().message;
  EXPECT_EQ(selection->events.at(0).mechanism, Mechanism::kPebs);
}

TEST(EventProbe, AutoTakesTheTimerWherePebsIsRefusedAndSaysWhy) {
  test::FakeOs os;
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) { return attr.precise_ip > 0 ? EBUSY : 0; };
  auto selection = select_usable_events(os, {"auto", "faults"}, 1000, with_pebs());
  ASSERT_TRUE(selection.ok()) << selection.error().message;
  ASSERT_EQ(selection->events.size(), 2u);
  EXPECT_EQ(selection->events[0].mechanism, Mechanism::kTimer);
  EXPECT_EQ(selection->events[1].name, "page-faults");
  EXPECT_THAT(selection->reasons, Contains(HasSubstr("cycles:pp")));
}

TEST(EventProbe, WhatWasNamedIsNotReplaced) {
  test::FakeOs os;
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) { return attr.precise_ip > 0 ? EBUSY : 0; };
  auto selection = select_usable_events(os, {"cost"}, 1000, with_pebs());
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->events.at(0).mechanism, Mechanism::kPebs);
}

}  // namespace
}  // namespace tailor::capture
