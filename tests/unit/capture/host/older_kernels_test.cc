// Kernels that know less, by a seam that answers as their sources do (perf_copy_attr() and perf_event_open()
// in kernel/events/core.c, the IBS driver in arch/x86/events/amd/ibs.c).
#include "daemon/capture/host/older_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/host/event_probe.h"
#include "daemon/capture/host/perf_recording.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t kIbs = 11;

// 5.15: read formats end before PERF_FORMAT_LOST.
int as_5_15(const perf_event_attr& attr, pid_t, int) {
  return attr.read_format & ~std::uint64_t{0xF} ? EINVAL : 0;
}
// 5.10: the bits behind text_poke are reserved, too.
int as_5_10(const perf_event_attr& attr, pid_t pid, int cpu) {
  const bool reserved = attr.inherit_thread || attr.remove_on_exec || attr.sigtrap;
  return reserved ? EINVAL : as_5_15(attr, pid, cpu);
}
// 6.1: IBS has no context of tasks.
int as_6_1(const perf_event_attr& attr, pid_t pid, int) {
  return attr.type == kIbs && pid != -1 ? EINVAL : 0;
}

CaptureOptions clock_options() {
  CaptureOptions options;
  options.events = {cpu_clock(1000)};
  options.ring_bytes = 16 * 4096;
  options.placement = Placement::kPerThread;
  return options;
}

TEST(OlderKernels, EventsAreFoundAndAutoIsTakenOn515And510) {
  for (const auto kernel : {as_5_15, as_5_10}) {
    test::FakeOs os;
    os.fail_open = kernel;
    HostPmu pmu;
    pmu.cpu = "GenuineIntel 6/143";
    pmu.table = "spr";
    pmu.counters = true;
    pmu.max_precise = 3;
    auto selection = select_usable_events(os, {"auto"}, 997, pmu);
    ASSERT_TRUE(selection.ok()) << selection.error().message;
    EXPECT_EQ(selection->events.front().mechanism, Mechanism::kPebs);
    auto alone = open_on_ourselves(os, selection->events);
    EXPECT_TRUE(alone.ok()) << alone.error().message;
  }
}

TEST(OlderKernels, On515LossesAreNotCountedAndThatIsSaid) {
  test::FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = as_5_15;
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_THAT((*recording)->notes(), ElementsAre(HasSubstr("older than 6.0")));
  for (const auto& event : os.opened()) EXPECT_TRUE(event.attr.inherit_thread);
}

// The child inherits the event; what it writes is thrown away, and counted.
TEST(OlderKernels, On510ForkedProcessesAreKeptOut) {
  test::FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = as_5_10;
  const CaptureOptions options = clock_options();
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_THAT((*recording)->notes(), ElementsAre(HasSubstr("older than 6.0"), HasSubstr("older than 5.13")));
  const EventFormat format = format_of(os.opened()[0].attr, options.events[0], 0, kNoTagRegister);
  for (const std::int32_t pid : {10, 12}) {
    test::SampleFields fields;
    fields.pid = fields.tid = pid;
    fields.user_registers = {1, 2, 3};
    os.write_record(os.opened()[0].fd, test::encode_sample(format, fields));
  }
  test::ChunkCollector sink;
  (*recording)->number_rings(0);
  (*recording)->drain(sink);
  sink.settle();
  ASSERT_EQ(sink.count_of(Kind::kSample), 1u);
  EXPECT_EQ(sink.events.events[0].pid, 10);
  EXPECT_EQ((*recording)->counts().filtered_samples, 1u);
}

TEST(OlderKernels, WithChildrenNothingIsKeptOut) {
  test::FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = as_5_10;
  CaptureOptions options = clock_options();
  options.follow_children = true;
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_THAT((*recording)->notes(), ElementsAre(HasSubstr("older than 6.0")));
}

TEST(OlderKernels, On61IbsIsOpenedForCpus) {
  test::FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = as_6_1;
  HostPmu pmu;
  pmu.cpu = "AuthenticAMD 25/17";
  pmu.table = "amd64_fam19h_zen4";
  pmu.counters = true;
  pmu.ibs = IbsPmu{kIbs, false};
  auto selection = select_usable_events(os, {"auto"}, 997, pmu);
  ASSERT_TRUE(selection.ok()) << selection.error().message;
  ASSERT_EQ(selection->events.front().mechanism, Mechanism::kIbs);
  CaptureOptions options = clock_options();
  options.events = selection->events;
  os.opened().clear();
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_THAT((*recording)->notes(), ElementsAre(HasSubstr("IBS for CPUs only")));
  for (const auto& event : os.opened()) {
    EXPECT_EQ(event.pid, -1);
    EXPECT_FALSE(event.attr.inherit);
    EXPECT_TRUE(event.attr.read_format & PERF_FORMAT_LOST) << "6.1 has that";
  }
}

// Where the kernel wants a leader, it is there before the event, in the same place.
TEST(OlderKernels, LoadLatencyIsLedByTheAuxiliaryEvent) {
  test::FakeOs os;
  os.add_threads(10, {10});
  os.set_online_cpus("0");
  CaptureOptions options = clock_options();
  EventSpec loads = options.events.front();
  loads.mechanism = Mechanism::kPebs;
  loads.unit = profile::Unit::kEvents;
  loads.type = PERF_TYPE_RAW;
  loads.config = 0x1CD;
  loads.precise_ip = 2;
  loads.auxiliary = 0x8203;
  options.events = {loads};
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  ASSERT_GE(os.opened().size(), 2u);
  const auto& leader = os.opened()[0];
  const auto& member = os.opened()[1];
  EXPECT_EQ(leader.attr.config, 0x8203u);
  EXPECT_EQ(leader.attr.sample_period, 0u);
  EXPECT_EQ(leader.attr.inherit, member.attr.inherit);
  EXPECT_EQ(leader.attr.exclude_kernel, member.attr.exclude_kernel);
  EXPECT_EQ(leader.cpu, member.cpu);
  EXPECT_EQ(leader.group, -1);
  EXPECT_EQ(member.attr.config, 0x1CDu);
  EXPECT_EQ(member.group, leader.fd);
  EXPECT_TRUE(open_on_ourselves(os, options.events).ok());
}

// Each CPU has its own period, and its ring says so.
TEST(PerfRecording, PeriodsAreDrawnForEachCpuAndToldWithItsRing) {
  test::FakeOs os;
  os.set_online_cpus("0-3");
  os.add_threads(10, {10, 11});
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  std::map<int, std::uint64_t> periods;
  for (const auto& event : os.opened()) {
    const auto [known, fresh] = periods.emplace(event.cpu, event.attr.sample_period);
    EXPECT_EQ(known->second, event.attr.sample_period) << "all threads of a CPU";
  }
  ASSERT_EQ(periods.size(), 4u);
  EXPECT_NE(periods[0], periods[1]);
  for (const auto& event : os.opened()) {
    if (event.mapped == 0) continue;
    test::SampleFields fields;
    fields.pid = fields.tid = 10;
    fields.user_registers = {1, 2, 3};
    fields.time = 100 + static_cast<std::uint64_t>(event.cpu);
    os.write_record(
        event.fd,
        test::encode_sample(format_of(event.attr, clock_options().events[0], 0, kNoTagRegister), fields));
  }
  test::ChunkCollector sink;
  (*recording)->number_rings(0);
  (*recording)->drain(sink);
  sink.settle();
  ASSERT_EQ(sink.count_of(Kind::kSample), 4u);
  for (const Event& event : sink.events.events)
    EXPECT_EQ(event.weight, periods[static_cast<int>(event.time - 100)]);
}

}  // namespace
}  // namespace tailor::capture
