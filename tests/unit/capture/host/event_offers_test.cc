#include "daemon/capture/host/event_offers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using testing::HasSubstr;

const EventOffer& find(const std::vector<EventOffer>& offers, const std::string& name) {
  for (const EventOffer& offer : offers) {
    if (offer.name == name) return offer;
  }
  ADD_FAILURE() << name;
  return offers.front();
}

TEST(EventOffers, AHostWithoutCountersSaysWhatItCannotDo) {
  test::FakeOs os;
  auto offers = probe_events(os, HostPmu{});
  EXPECT_TRUE(find(offers, "auto").available);
  EXPECT_TRUE(find(offers, "faults").available);
  EXPECT_FALSE(find(offers, "paper").available);
  EXPECT_THAT(find(offers, "paper").detail, HasSubstr("take cpu-clock"));
  for (const auto& event : os.opened()) EXPECT_TRUE(event.attr.disabled) << "a probe counts nothing";
}

TEST(EventOffers, WhatTheKernelRefusesIsNotOffered) {
  test::FakeOs os;
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) { return attr.precise_ip > 0 ? EOPNOTSUPP : 0; };
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/143";
  pmu.table = "spr";
  pmu.counters = true;
  pmu.max_precise = 3;
  auto offers = probe_events(os, pmu);
  EXPECT_FALSE(find(offers, "cost").available);
  EXPECT_THAT(find(offers, "cost").detail, HasSubstr("precisely"));
  EXPECT_TRUE(find(offers, "cpu-clock").available);
}

TEST(EventOffers, UserModeOnlyIsOfferedWithItsLimit) {
  test::FakeOs os;
  os.proc_files().write("sys/kernel/perf_event_paranoid", "2\n");
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) { return attr.exclude_kernel ? 0 : EACCES; };
  auto offers = probe_events(os, HostPmu{});
  EXPECT_TRUE(find(offers, "cpu-clock").available);
  EXPECT_THAT(find(offers, "cpu-clock").detail, HasSubstr("perf_event_paranoid=1"));
}

}  // namespace
}  // namespace tailor::capture
