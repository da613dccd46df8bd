// A recording by BPF whose other events are perf's: those get new periods while it goes on. The timer stands
// for PEBS here, user mode only.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <set>
#include <sstream>
#include <thread>

#include "daemon/bpf/opener.h"
#include "daemon/capture/host/capture_reader.h"
#include "tests/support/chance.h"
#include "tests/support/child_process.h"
#include "tests/support/chunk_collector.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

constexpr std::uint64_t kHz = 997;

capture::CaptureOptions two_parts() {
  capture::CaptureOptions options;
  options.sampled_by = capture::SampledBy::kBpf;
  options.events = {capture::cpu_clock(kHz), capture::cpu_clock(kHz)};
  options.events[0].mechanism = capture::Mechanism::kPebs;
  options.events[0].part = capture::Part::kRecords;
  options.events[1].part = capture::Part::kRest;
  options.large_pebs = false;
  return options;
}

TEST(Renew, PeriodsChangeAndNothingIsLost) {
  test::undisturbed([&] {
    test::ChildProcess child({std::string(TAILOR_TARGETS) + "/rhythm", "1000", "280", "600", "2"});
    child.read_line();
    test::ChunkCollector sink;
    Opener opener;
    capture::CaptureReader reader(
        os::real(), sink, [](capture::RecordingNumber, const capture::CaptureCounts&) {},
        [&](os::Os& os, pid_t pid, const capture::CaptureOptions& options) {
          return opener.open(os, pid, options);
        });
    ASSERT_TRUE(reader.start().ok());
    auto attached = reader.attach(child.pid(), two_parts());
    if (!attached) {
      child.send("\n");
      child.read_all();
      child.wait();
      GTEST_SKIP() << test::skip_if_denied(two_parts(), attached.error().message);
    }
    EXPECT_TRUE(attached->renews);
    EXPECT_FALSE(attached->redraws);
    ASSERT_EQ(attached->sources.front().name, "cycles") << "one source for both parts";
    child.send("\n");
    constexpr int kTimes = 3;
    for (int i = 0; i < kTimes; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      const Status renewed = reader.renew(attached->id, child.pid(), two_parts());
      EXPECT_TRUE(renewed.ok()) << renewed.error().message;
    }
    std::istringstream times(child.read_all());
    child.wait();
    reader.stop();
    sink.settle();
    double first = 0, second = 0;
    times >> first >> second;
    const double used = first + second;
    std::map<capture::Part, double> sums;
    std::set<std::pair<std::uint32_t, std::uint64_t>> periods;  // of the records, by CPU
    for (const capture::Event& event : sink.events.events) {
      if (event.kind != capture::Kind::kSample) continue;
      EXPECT_EQ(event.source, 0u);
      sums[event.part] += static_cast<double>(event.weight);
      if (event.part == capture::Part::kRecords) periods.insert({event.cpu, event.weight});
    }
    std::set<std::uint32_t> cpus;
    for (const auto& [cpu, period] : periods) cpus.insert(cpu);
    EXPECT_GT(periods.size(), cpus.size()) << "other periods than at first";
    const double bound = 0.05 + test::of_count(used / 1e9 * static_cast<double>(kHz));
    EXPECT_NEAR(sums[capture::Part::kRecords] / used, 1, bound);
    EXPECT_NEAR(sums[capture::Part::kRest] / used, 1, bound);
    EXPECT_EQ(sink.counts().unknown_id, 0u);
    test::no_excuse(sink.counts().malformed == 0);
    EXPECT_EQ(sink.counts().malformed, 0u);
  });
}

}  // namespace
}  // namespace tailor::bpf
