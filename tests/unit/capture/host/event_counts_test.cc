// How long events of the CPU counted where they take turns.
#include "daemon/capture/host/event_counts.h"

#include <gtest/gtest.h>

#include "daemon/capture/host/perf_recording.h"
#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using test::FakeOs;

CaptureOptions cycles_and_clock() {
  EventSpec cycles;
  cycles.name = "cycles";
  cycles.mechanism = Mechanism::kCounter;
  cycles.unit = profile::Unit::kEvents;
  cycles.type = PERF_TYPE_HARDWARE;
  cycles.config = PERF_COUNT_HW_CPU_CYCLES;
  cycles.period = 1'000'003;
  CaptureOptions options;
  options.events = {cpu_clock(1000), cycles};
  options.placement = Placement::kPerThread;
  return options;
}

// Two threads on two CPUs; each ran 100 of its 150 ns on the first.
std::vector<CountedTime> count(std::uint64_t first_cpu, std::uint64_t second_cpu) {
  FakeOs os;
  os.set_online_cpus("0-1");
  os.add_threads(10, {10, 11});
  auto recording = PerfRecording::open(os, 10, cycles_and_clock());
  EXPECT_TRUE(recording.ok());
  for (auto& event : os.opened()) {
    event.enabled_ns = 150;
    event.running_ns = event.cpu == 0 ? first_cpu : second_cpu;
  }
  return (*recording)->counts().times;
}

TEST(EventCounts, OfThreadsThatMoveBetweenCpusIsAllTheTime) {
  const auto times = count(100, 50);
  ASSERT_EQ(times.size(), 1u) << "events of the kernel take no turns";
  EXPECT_EQ(times[0].source, "cycles");
  EXPECT_EQ(times[0].enabled_ns, 300u);
  EXPECT_EQ(times[0].running_ns, 300u);
  EXPECT_EQ(tell_shared_counters(times), "");
}

TEST(EventCounts, OfSharedCountersIsToldWithItsShare) {
  const std::string text = tell_shared_counters(count(40, 20));
  EXPECT_NE(text.find("cycles counted 40 % of the time"), std::string::npos) << text;
}

TEST(EventCounts, AReadOfAnotherFormIsNoCount) {
  FakeOs os;
  os.add_threads(10, {10});
  auto recording = PerfRecording::open(os, 10, cycles_and_clock());
  ASSERT_TRUE(recording.ok());
  auto& event = os.opened().front();
  perf_event_attr asked = event.attr;
  asked.read_format ^= PERF_FORMAT_TOTAL_TIME_ENABLED;
  EXPECT_FALSE(read_event_counts(os, event.fd, asked));
  EXPECT_TRUE(read_event_counts(os, event.fd, event.attr));
}

}  // namespace
}  // namespace tailor::capture
