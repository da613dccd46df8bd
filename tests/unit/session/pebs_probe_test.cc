#include "daemon/session/pebs_probe.h"

#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <cerrno>

#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"

namespace tailor::session {
namespace {

using clock::RecordTimes;

// A kernel that writes records of `gap` ns when the event is enabled, and lets time pass when asked for it.
class Kernel : public test::FakeOs {
 public:
  explicit Kernel(TimeNs gap, int records = 400) {
    fail_ioctl = [this, gap, records](unsigned long request) {
      if (request != PERF_EVENT_IOC_ENABLE) return 0;
      for (int i = 0; i < records; ++i) {
        test::RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
        record.u64(0x1000).u32(1).u32(1).u64(static_cast<std::uint64_t>(5'000'000 + i * gap));
        write_record(opened().back().fd, record.done());
      }
      return 0;
    };
  }
  TimeNs now() override { return time += 1'000'000; }
};

TEST(PebsProbe, TellsOwnTimesFromThoseOfTheDrain) {
  Kernel own(7000), drain(150);
  EXPECT_EQ(*probe_pebs_times(own), RecordTimes::kOwn);
  EXPECT_EQ(*probe_pebs_times(drain), RecordTimes::kDrain);
}

TEST(PebsProbe, NoSamplesNoVerdict) {
  Kernel silent(7000, 10);
  EXPECT_EQ(*probe_pebs_times(silent), RecordTimes::kUnknown);
}

TEST(PebsProbe, ARefusedEventIsAnError) {
  Kernel host(7000);
  host.fail_open = [](const perf_event_attr&, pid_t, int) { return ENOENT; };
  EXPECT_EQ(probe_pebs_times(host).error().code, ENOENT);
}

TEST(PebsProbe, AsksForPreciseCyclesInPerfsOwnClock) {
  Kernel host(7000);
  (void)probe_pebs_times(host);
  const perf_event_attr& attr = host.opened().back().attr;
  EXPECT_EQ(attr.precise_ip, 2u);
  EXPECT_FALSE(attr.use_clockid);
  EXPECT_FALSE(attr.freq);
}

capture::CaptureOptions options_of(capture::Mechanism mechanism) {
  capture::CaptureOptions options;
  options.events.push_back({.name = "e", .mechanism = mechanism});
  return options;
}

std::string settle(capture::CaptureOptions& options, bool perf_clock, Result<RecordTimes> times,
                   int& probes) {
  return settle_large_pebs(options, perf_clock, [&] {
    ++probes;
    return times;
  });
}

TEST(SettleLargePebs, StaysOnWhereRecordsHaveTheirOwnTimes) {
  auto options = options_of(capture::Mechanism::kPebs);
  int probes = 0;
  EXPECT_EQ(settle(options, true, RecordTimes::kOwn, probes), "");
  EXPECT_TRUE(options.large_pebs);
}

TEST(SettleLargePebs, GoesOffAndSaysWhy) {
  const Result<RecordTimes> bad[] = {RecordTimes::kDrain, RecordTimes::kUnknown, Error{"refused", EACCES}};
  for (const auto& times : bad) {
    auto options = options_of(capture::Mechanism::kPebs);
    int probes = 0;
    EXPECT_NE(settle(options, true, times, probes), "");
    EXPECT_FALSE(options.large_pebs);
  }
  auto options = options_of(capture::Mechanism::kPebs);
  int probes = 0;
  EXPECT_NE(settle(options, false, RecordTimes::kOwn, probes), "");
  EXPECT_FALSE(options.large_pebs);
  EXPECT_EQ(probes, 0);
}

TEST(SettleLargePebs, OtherEventsAreNotAskedAbout) {
  auto options = options_of(capture::Mechanism::kTimer);
  int probes = 0;
  EXPECT_EQ(settle(options, false, RecordTimes::kDrain, probes), "");
  EXPECT_EQ(probes, 0);
}

}  // namespace
}  // namespace tailor::session
