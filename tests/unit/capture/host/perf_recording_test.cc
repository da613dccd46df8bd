#include "daemon/capture/host/perf_recording.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/host/placement.h"
#include "daemon/capture/select/event_selection.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"

namespace tailor::capture {
namespace {

using test::FakeOs;
using test::RecordBytes;

CaptureOptions clock_options() {
  CaptureOptions options;
  options.events = {cpu_clock(1000)};
  options.ring_bytes = 16 * 4096;
  options.placement = Placement::kPerThread;
  return options;
}

constexpr TimeNs kMs = 1'000'000;

TEST(PerfRecording, OneEventPerThreadAndCpuOneRingPerCpu) {
  FakeOs os;
  os.set_online_cpus("0,2-3");
  os.add_threads(10, {10, 11});
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_EQ((*recording)->event_count(), 6u);
  EXPECT_EQ((*recording)->ring_count(), 3u);
  std::size_t rings = 0;
  for (const auto& event : os.opened()) {
    EXPECT_TRUE(event.attr.inherit);
    EXPECT_TRUE(event.attr.inherit_thread);
    EXPECT_TRUE(event.mapped != 0 || os.by_fd(event.output_to).cpu == event.cpu);
    rings += event.mapped != 0;
  }
  EXPECT_EQ(rings, 3u);
}

// A recording of time off the CPU begins with the functions that name waits, in one ring; where the kernel
// does not tell them, a note says so.
TEST(PerfRecording, WaitFunctionsAreToldFirst) {
  for (const bool told : {true, false}) {
    FakeOs os;
    os.add_threads(10, {10});
    if (told) {
      os.proc_files().write("kallsyms", "ffffffff81000000 T io_schedule\nffffffff81000100 T schedule\n");
    }
    CaptureOptions options = clock_options();
    options.events.push_back(off_cpu());
    options.context_switches = true;
    auto recording = PerfRecording::open(os, 10, options);
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    for (const auto& event : os.opened()) {
      const bool switches = event.attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES;
      EXPECT_EQ(switches && !event.attr.exclude_callchain_kernel, switches);
    }
    test::ChunkCollector sink;
    (*recording)->number_rings(0);
    (*recording)->drain(sink);
    sink.settle();
    ASSERT_EQ(sink.events.events.size(), told ? 1u : 0u);
    EXPECT_EQ((*recording)->notes().empty(), told);
    if (!told) {
      EXPECT_NE((*recording)->notes().back().find("waits are not named"), std::string::npos);
      continue;
    }
    const Event& symbol = sink.events.events[0];
    EXPECT_EQ(symbol.kind, Kind::kKernelSymbol);
    EXPECT_EQ(symbol.address, 0xffffffff81000000u);
    EXPECT_EQ(symbol.size, 0x100u);
    EXPECT_EQ(symbol.time, os.time);
    EXPECT_EQ(sink.events.text_of(symbol), "io_schedule");
  }
}

struct FormatCollector : ChunkSink {
  std::vector<EventFormat> formats;
  void on_ring(const RingLayout& layout) override {
    formats.insert(formats.end(), layout.formats.begin(), layout.formats.end());
  }
  void on_chunk(RingChunk&&) override {}
  void on_round(TimeNs) override {}
  void on_ring_closed(RingIndex) override {}
};

// PEBS and the counter beside it have rings of their own clocks, and are one source. Kernel time counts as
// sampled, unless the counter may not sample it.
TEST(PerfRecording, TwoPartsAreOneSource) {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/143";
  pmu.table = "spr";
  pmu.counters = true;
  pmu.max_precise = 3;
  const std::vector<std::string> names = {"auto"};
  for (const bool denied : {false, true}) {
    FakeOs os;
    os.set_online_cpus("0");
    os.add_threads(10, {10});
    os.fail_open = [&](const perf_event_attr& attr, pid_t, int) {
      return denied && !attr.exclude_kernel ? EACCES : 0;
    };
    CaptureOptions options = clock_options();
    options.events = select_events(names, 1000, pmu)->events;
    auto recording = PerfRecording::open(os, 10, options);
    ASSERT_TRUE(recording.ok()) << recording.error().message;
    ASSERT_EQ((*recording)->sources().size(), 1u);
    EXPECT_EQ((*recording)->sources()[0].name, "cycles");
    EXPECT_EQ((*recording)->user_mode_only(), denied);
    FormatCollector sink;
    (*recording)->number_rings(0);
    (*recording)->drain(sink);
    std::set<std::pair<Part, std::uint16_t>> parts;
    for (const EventFormat& format : sink.formats) parts.insert({format.part, format.source});
    EXPECT_EQ(parts, (std::set<std::pair<Part, std::uint16_t>>{{Part::kRecords, 0}, {Part::kRest, 0}}));
  }
}

TEST(PerfRecording, AnOfflineCpuIsPassedOver) {
  FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = [](const perf_event_attr&, pid_t, int cpu) { return cpu == 1 ? ENODEV : 0; };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ((*recording)->ring_count(), 1u);
}

TEST(PerfRecording, AThreadThatEndsMeanwhileIsPassedOver) {
  FakeOs os;
  os.add_threads(10, {10, 11, 12});
  os.fail_open = [](const perf_event_attr&, pid_t tid, int) { return tid == 11 ? ESRCH : 0; };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ((*recording)->event_count(), 4u);
}

// Thread 11 is made by 10 while it is attached (a FORK record says so) and has inherited; 12 appears without
// one, so its maker had no event yet.
TEST(PerfRecording, ThreadsThatAppearAreNeitherMissedNorCountedTwice) {
  FakeOs os;
  os.add_threads(10, {10});
  bool appeared = false;
  os.fail_open = [&](const perf_event_attr&, pid_t tid, int cpu) {
    if (tid == 10 && cpu == 1 && !appeared) {
      appeared = true;
      os.add_threads(10, {11, 12});
      os.write_record(
          os.opened()[0].fd,
          RecordBytes(PERF_RECORD_FORK, 0).u32(10).u32(10).u32(11).u32(10).u64(5).u64(0).u64(0).done());
    }
    return 0;
  };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  // Whether one was inherited is known a moment later. Nobody waits for that.
  test::ChunkCollector sink;
  for (int i = 0; i < 3; ++i) {
    os.time += 5 * kMs;
    (*recording)->drain(sink);
  }
  std::vector<pid_t> tids;
  for (const auto& event : os.opened()) tids.push_back(event.pid);
  EXPECT_EQ(std::ranges::count(tids, 11), 0);
  EXPECT_EQ(std::ranges::count(tids, 12), 2);
  // What was read while attaching is not lost.
  sink.settle();
  EXPECT_EQ(sink.count_of(Kind::kFork), 1u);
}

TEST(PerfRecording, WithoutPermissionForKernelModeItRecordsUserModeAndSaysSo) {
  FakeOs os;
  os.add_threads(10, {10});
  os.proc_files().write("sys/kernel/perf_event_paranoid", "2\n");
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) { return attr.exclude_kernel ? 0 : EACCES; };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  ASSERT_EQ((*recording)->notes().size(), 1u);
  EXPECT_NE((*recording)->notes()[0].find("sysctl kernel.perf_event_paranoid=1"), std::string::npos);
}

TEST(PerfRecording, OldKernelsWithoutLostCountsStillRecord) {
  FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = [](const perf_event_attr& attr, pid_t, int) {
    return attr.read_format & PERF_FORMAT_LOST ? EINVAL : 0;
  };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ((*recording)->notes().size(), 1u);
}

TEST(PerfRecording, RingsShrinkUnderTheQuotaThenTheQuotaIsNamed) {
  FakeOs os;
  os.add_threads(10, {10});
  os.fail_map = [](std::size_t bytes) { return bytes > 9 * 4096 ? EPERM : 0; };
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  EXPECT_EQ((*recording)->ring_bytes(), 8 * 4096u);
  EXPECT_FALSE((*recording)->notes().empty());

  os.fail_map = [](std::size_t) { return EPERM; };
  auto refused = PerfRecording::open(os, 10, clock_options());
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("perf_event_mlock_kb (516 KiB"), std::string::npos);
}

TEST(PerfRecording, EventsOfSeveralSourcesAreNamedInTheLayout) {
  FakeOs os;
  os.add_threads(10, {10});
  CaptureOptions options = clock_options();
  EventSpec faults;
  faults.name = "page-faults";
  faults.mechanism = Mechanism::kSoftware;
  faults.unit = profile::Unit::kEvents;
  faults.config = PERF_COUNT_SW_PAGE_FAULTS;
  faults.period = 1;
  faults.address = true;
  options.events.push_back(faults);
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok());
  struct : test::ChunkCollector {
    void on_ring(const RingLayout& layout) override { layouts.push_back(layout); }
    std::vector<RingLayout> layouts;
  } sink;
  (*recording)->drain(sink);
  ASSERT_EQ(sink.layouts.size(), 2u);
  EXPECT_EQ(sink.layouts[0].formats.size(), 2u);
  EXPECT_EQ(sink.layouts[0].ids.size(), 2u);
  EXPECT_TRUE(RecordDecoder::create(sink.layouts[0]).ok());
  EXPECT_FALSE(os.opened()[1].attr.mmap) << "mappings are told once";
}

// The reader sleeps while the ring overflows several times: received + lost is what was written, whether a
// LOST record told of it or only the event's counter.
TEST(PerfRecording, LossesAddUpToTheRecord) {
  FakeOs os;
  os.set_online_cpus("0");
  os.add_threads(10, {10});
  auto recording = PerfRecording::open(os, 10, clock_options());
  ASSERT_TRUE(recording.ok());
  test::ChunkCollector sink;
  (*recording)->number_rings(0);
  (*recording)->drain(sink);
  auto& event = os.opened()[0];
  EventSpec spec = cpu_clock(1000);
  EventFormat format = format_of(event.attr, spec, 0, kNoTagRegister);
  test::SampleFields fields;
  fields.user_registers = {1, 2, 3};
  auto sample = test::encode_sample(format, fields);
  std::uint64_t written = 0;
  for (int pause : {5000, 100, 3000}) {
    for (int i = 0; i < pause; ++i, ++written) os.write_record(event.fd, sample);
    (*recording)->drain(sink);
  }
  for (int i = 0; i < 4000; ++i, ++written) os.write_record(event.fd, sample);
  (*recording)->finish(sink);
  EXPECT_GT(sink.counts().lost, 0u);
  EXPECT_EQ(sink.counts().samples + sink.counts().lost, written);
  EXPECT_EQ((*recording)->counts().lost, sink.counts().lost);
}

// Process 10, its child 12 and 13, which was there before, stay; 99 is removed, in whichever ring its records
// are.
TEST(PerfRecording, OneEventPerCpuKeepsTheRecordsOfTheProcess) {
  FakeOs os;
  os.add_threads(10, {10});
  CaptureOptions options = clock_options();
  options.placement = Placement::kPerCpu;
  options.follow_children = true;
  os.add_threads(13, {13});
  options.followed = {13};
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok());
  ASSERT_EQ(os.opened().size(), 2u);
  EXPECT_EQ(os.opened()[0].pid, -1);
  EXPECT_FALSE(os.opened()[0].attr.inherit);
  EventFormat format = format_of(os.opened()[0].attr, options.events[0], 0, kNoTagRegister);
  auto write = [&](std::size_t cpu, std::int32_t pid) {
    test::SampleFields fields;
    fields.pid = fields.tid = pid;
    fields.user_registers = {1, 2, 3};
    os.write_record(os.opened()[cpu].fd, test::encode_sample(format, fields));
  };
  write(0, 10);
  write(0, 99);
  write(0, 12);
  write(0, 13);
  test::SampleFields parent;
  parent.pid = parent.tid = 10;
  os.write_record(
      os.opened()[1].fd,
      test::with_sample_id(RecordBytes(PERF_RECORD_FORK, 0).u32(12).u32(10).u32(12).u32(10).u64(1), format,
                           parent));
  write(1, 99);
  write(1, 10);
  test::ChunkCollector sink;
  (*recording)->number_rings(0);
  (*recording)->drain(sink);
  sink.settle();
  auto samples = sink.samples_by_thread();
  EXPECT_EQ(samples[10], 2u);
  EXPECT_EQ(samples[12], 1u);
  EXPECT_EQ(samples[13], 1u);
  EXPECT_EQ(samples.count(99), 0u);
  EXPECT_EQ((*recording)->births(), 0u) << "none of them got an event of its own";
  EXPECT_EQ((*recording)->counts().filtered, 2u);
  EXPECT_EQ(sink.counts().malformed, 0u);
}

// An event of a CPU is not started by an exec.
TEST(PerfRecording, OneEventPerCpuOfACommandRunsFromTheStart) {
  FakeOs os;
  os.add_threads(10, {10});
  CaptureOptions options = clock_options();
  options.enable_on_exec = true;
  for (auto placement : {Placement::kPerThread, Placement::kPerCpu}) {
    options.placement = placement;
    os.opened().clear();
    auto recording = PerfRecording::open(os, 10, options);
    ASSERT_TRUE(recording.ok());
    const perf_event_attr& attr = os.opened()[0].attr;
    EXPECT_EQ(attr.enable_on_exec, placement == Placement::kPerThread);
    EXPECT_EQ(attr.disabled, placement == Placement::kPerThread);
  }
}

TEST(PerfRecording, CountsTheBirthsThatGotEventsOfTheirOwn) {
  FakeOs os;
  os.add_threads(10, {10});
  const CaptureOptions options = clock_options();
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok());
  const EventFormat format = format_of(os.opened()[0].attr, options.events[0], 0, kNoTagRegister);
  test::SampleFields parent;
  parent.pid = parent.tid = 10;
  for (std::uint32_t tid : {11u, 12u}) {
    os.write_record(
        os.opened()[0].fd,
        test::with_sample_id(RecordBytes(PERF_RECORD_FORK, 0).u32(10).u32(10).u32(tid).u32(10).u64(1), format,
                             parent));
  }
  EXPECT_EQ((*recording)->births(), 0u);
  test::ChunkCollector sink;
  (*recording)->number_rings(0);
  (*recording)->drain(sink);
  EXPECT_EQ((*recording)->births(), 2u);
}

TEST(PerfRecording, APlacementThatIsDeniedIsSaidSo) {
  FakeOs os;
  os.add_threads(10, {10});
  os.fail_open = [](const perf_event_attr&, pid_t pid, int) { return pid == -1 ? EACCES : 0; };
  CaptureOptions options = clock_options();
  options.placement = Placement::kPerCpu;
  auto refused = PerfRecording::open(os, 10, options);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("whole CPU"), std::string::npos);
}

TEST(PerfRecording, TheUsualPlacementIsTakenWhereACpuIsDenied) {
  FakeOs os;
  os.proc_files().write("sys/kernel/perf_event_paranoid", "2\n");
  std::vector<pid_t> threads;
  for (pid_t tid = 10; tid < 40; ++tid) threads.push_back(tid);
  os.add_threads(10, threads);
  os.fail_open = [](const perf_event_attr&, pid_t pid, int) { return pid == -1 ? EACCES : 0; };
  CaptureOptions options = clock_options();
  options.placement = Placement::kAuto;
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit tight{100, before.rlim_max};  // 60 events are more than half of it
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  auto recording = PerfRecording::open(os, 10, options);
  ::setrlimit(RLIMIT_NOFILE, &before);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  EXPECT_EQ((*recording)->event_count(), 60u);
  ASSERT_EQ((*recording)->notes().size(), 1u);
  EXPECT_NE((*recording)->notes()[0].find("perf_event_paranoid"), std::string::npos);
}

// At 1 kHz a birth hides a millisecond at most: 50 a second are a twentieth of a CPU.
TEST(Placement, ManyBirthsForAWhileAreTooMany) {
  BirthWatch few(kMs), many(kMs), slower(10 * kMs);
  bool of_few = false, of_many = false, of_slower = false;
  for (TimeNs time = 0; time <= 500 * kMs; time += 20 * kMs) {
    const auto passed = static_cast<std::uint64_t>(time / kMs);
    of_few |= few.too_many(time, passed * 40 / 1000);
    of_many |= many.too_many(time, passed);
    of_slower |= slower.too_many(time, passed * 40 / 1000);
    if (time == 180 * kMs) {
      EXPECT_FALSE(of_many) << "a second window has to be like the first";
    }
  }
  EXPECT_FALSE(of_few);
  EXPECT_TRUE(of_many);
  EXPECT_TRUE(of_slower) << "each hides ten times as much";
  EXPECT_NEAR(many.per_second(), 1000, 1);
}

TEST(Placement, APoolOfThreadsMadeAtOnceIsNotTooMany) {
  BirthWatch watch(kMs);
  for (TimeNs time = 0; time <= 500 * kMs; time += 20 * kMs) {
    EXPECT_FALSE(watch.too_many(time, time < 140 * kMs ? 0 : 64));
  }
}

TEST(Placement, ByDescriptorsAndSwitches) {
  EXPECT_FALSE(choose_placement({100, 1000}).per_cpu);
  EXPECT_TRUE(choose_placement({600, 1000}).per_cpu);
  EXPECT_EQ(why_per_cpu(100), "");
  EXPECT_NE(why_per_cpu(50'000).find("50000 context switches"), std::string::npos);
}

TEST(Placement, EventsAreThoseOfAllThreads) {
  FakeOs os;
  os.add_threads(10, {10, 11});
  EXPECT_EQ(observe_target(os, 10, 4, 2).events_needed, 16u);
  EXPECT_EQ(observe_target(os, 99, 4, 2).events_needed, 0u);
}

void switched(FakeOs& os, pid_t tid, int voluntary, int forced) {
  os.proc_files().write("10/task/" + std::to_string(tid) + "/status",
                        "Name:\tx\nvoluntary_ctxt_switches:\t" + std::to_string(voluntary) +
                            "\nnonvoluntary_ctxt_switches:\t" + std::to_string(forced) + "\n");
}

TEST(Placement, SwitchesAreThoseOfAllThreadsBetweenTwoLooks) {
  FakeOs os;
  os.add_threads(10, {10, 11});
  switched(os, 10, 5, 1);
  switched(os, 11, 7, 0);
  SwitchWatch watch(os, 10);
  switched(os, 10, 105, 1);
  switched(os, 11, 7, 20);
  EXPECT_FALSE(watch.look(os).has_value()) << "too early";
  os.time += 100 * kMs;
  EXPECT_DOUBLE_EQ(watch.look(os).value_or(0), 1200);
}

// Nobody waits for that while the recording is opened.
TEST(PerfRecording, SwitchesAreToldLater) {
  FakeOs os;
  os.add_threads(10, {10});
  switched(os, 10, 0, 0);
  CaptureOptions options = clock_options();
  options.placement = Placement::kAuto;
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok());
  switched(os, 10, 1000, 0);
  test::ChunkCollector sink;
  (*recording)->drain(sink);
  EXPECT_EQ((*recording)->switches_per_second(), 0);
  os.time += 100 * kMs;
  (*recording)->drain(sink);
  EXPECT_DOUBLE_EQ((*recording)->switches_per_second(), 10'000);
}

TEST(PerfRecording, RepeatedCyclesLeaveNothingOpen) {
  FakeOs os;
  os.add_threads(10, {10, 11, 12});
  auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                         std::filesystem::directory_iterator());
  };
  auto before = descriptors();
  for (int i = 0; i < 1000; ++i) {
    os.opened().clear();
    auto recording = PerfRecording::open(os, 10, clock_options());
    ASSERT_TRUE(recording.ok());
    test::ChunkCollector sink;
    (*recording)->finish(sink);
  }
  EXPECT_EQ(descriptors(), before);
}

TEST(PerfRecording, OneThatStartsDisabledStillTellsForks) {
  FakeOs os;
  os.add_threads(10, {10});
  CaptureOptions options = clock_options();
  options.start_disabled = true;
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  // Of two events: the one that tells of forks takes no samples.
  ASSERT_EQ((*recording)->sources().size(), 1u);
  EXPECT_EQ((*recording)->sources()[0].name, "cpu-clock");
  int running = 0;
  for (const auto& event : os.opened()) {
    EXPECT_NE(event.attr.disabled, event.attr.task);
    EXPECT_EQ(event.attr.task, event.attr.config == PERF_COUNT_SW_DUMMY);
    running += !event.attr.disabled;
  }
  EXPECT_EQ(running, 2);  // one a CPU
}

TEST(PerfRecording, FollowsTheFamilyThatIsThereAlready) {
  FakeOs os;
  os.add_threads(10, {10, 11});
  os.add_threads(20, {20, 21});
  os.add_threads(30, {30});
  os.add_threads(40, {40});  // no relative, but known to belong here
  os.add_threads(50, {50});
  os.proc_files().write("10/task/11/children", "20 \n");
  os.proc_files().write("20/task/20/children", "30 99 \n");  // 99 has ended
  CaptureOptions options = clock_options();
  options.follow_children = true;
  options.followed = {40, 20};
  auto recording = PerfRecording::open(os, 10, options);
  ASSERT_TRUE(recording.ok()) << recording.error().message;
  std::set<pid_t> threads;
  for (const auto& event : os.opened()) EXPECT_TRUE(threads.insert(event.pid).second || event.cpu == 1);
  EXPECT_EQ(threads, (std::set<pid_t>{10, 11, 20, 21, 30, 40}));
}

}  // namespace
}  // namespace tailor::capture
