// A recorder on a kernel that we play: its trial shows records with their own times, and what is recorded
// afterwards is stamped at the drain, or not.
#include <asm/perf_regs.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>

#include <bit>
#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/session/recorder.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_os.h"
#include "tests/support/played_kernel.h"
#include "tests/support/record_encoder.h"

namespace tailor::session {
namespace {

using std::chrono::milliseconds, std::chrono::seconds;
using test::step_for, test::step_until;

constexpr pid_t kTarget = 4242;
constexpr std::uint64_t kPeriod = 3'000'017;
constexpr TimeNs kMs = 1'000'000;

class Kernel : public test::PlayedKernel {
 public:
  Kernel() {
    add_threads(kTarget, {kTarget});
    sys_files().write("devices/system/clocksource/clocksource0/current_clocksource", "tsc\n");
    fail_ioctl = [this](unsigned long request) {
      const bool trial = opened().back().pid == 0;  // it samples whoever tries
      if (request == PERF_EVENT_IOC_ENABLE && trial) play_trial();
      return 0;
    };
  }

  // perf's own clock, which counts by the TSC too.
  TimeNs perf_now() { return now() + kPerfAhead; }
  Result<os::Mapping> map_ring(int fd, std::size_t bytes) override {
    auto memory = FakeOs::map_ring(fd, bytes);
    auto* page = reinterpret_cast<perf_event_mmap_page*>(memory->data());
    page->cap_user_time = page->cap_user_time_zero = 1;
    page->time_mult = static_cast<std::uint32_t>((std::uint64_t{1} << kPerfShift) / kTicksPerNs);
    page->time_shift = kPerfShift;
    page->time_zero = static_cast<std::uint64_t>(kPerfAhead);
    return memory;
  }

  // The target's PEBS event that is open for many records an interrupt, or for one.
  std::optional<Opened> target_event(bool one_by_one) {
    for (const Opened& each : opened()) {
      const bool one = each.attr.use_clockid && each.attr.wakeup_watermark == 1;
      if (each.pid == kTarget && each.attr.precise_ip > 0 && one == one_by_one) return each;
    }
    return std::nullopt;
  }

  void sample(const Opened& event, TimeNs at) {
    capture::EventFormat format;
    format.sample_type = event.attr.sample_type;
    format.regs_intr = event.attr.sample_regs_intr;
    test::SampleFields fields;
    fields.identifier = 1000 + static_cast<std::uint64_t>(event.fd);
    fields.ip = 0x1000;
    fields.pid = fields.tid = kTarget;
    fields.time = static_cast<std::uint64_t>(at);
    fields.interrupt_registers.resize(static_cast<std::size_t>(std::popcount(event.attr.sample_regs_intr)));
    write_record(event.fd, test::encode_sample(format, fields));
  }

 private:
  void play_trial() {
    for (int i = 0; i < 400; ++i) {
      test::RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
      record.u64(0x1000).u32(1).u32(1).u64(static_cast<std::uint64_t>(5'000'000 + i * 7000));
      write_record(opened().back().fd, record.done());
    }
  }

  static constexpr TimeNs kPerfAhead = 5'000'000'123;
  static constexpr std::uint16_t kPerfShift = 32;
};

class PebsFallback : public testing::Test {
 protected:
  void start() {
    RecorderOptions live;
    live.agent_socket = (directory_.path() / "agent.sock").string();
    live.by_step = true;
    auto started = Recorder::start(kernel_, live, sink_, [this](const pipeline::Problem& problem) {
      problems_.push_back(problem.text);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    recorder_ = std::move(*started);
    capture::CaptureOptions options;
    capture::EventSpec cycles;
    cycles.name = "cycles:pp";
    cycles.mechanism = capture::Mechanism::kPebs;
    cycles.unit = profile::Unit::kEvents;
    cycles.type = PERF_TYPE_HARDWARE;
    cycles.precise_ip = 2;
    cycles.period = kPeriod;
    options.events.push_back(cycles);
    options.placement = capture::Placement::kPerThread;
    Status attached = recorder_->attach({{kTarget, 1}, "target"}, options);
    ASSERT_TRUE(attached.ok()) << attached.error().message;
    ASSERT_TRUE(kernel_.target_event(false));
    ASSERT_FALSE(kernel_.target_event(true));
  }

  // Seven drains, one every 32 ms, of a record for each millisecond since the one before: the last one makes
  // the evidence enough.
  std::size_t run(bool own_times) {
    const auto event = *kernel_.target_event(false);
    std::size_t written = 0;
    for (int drain = 0; drain < 7; ++drain) {
      kernel_.sleep(milliseconds(32));
      const TimeNs now = kernel_.perf_now();
      for (int i = 31; i >= 0; --i, ++written)
        kernel_.sample(event, own_times ? now - i * kMs : now - i * 150);
      recorder_->step(milliseconds(0));
    }
    return written;
  }

  test::TemporaryDirectory directory_;
  Kernel kernel_;
  test::CollectingSink sink_;
  std::vector<std::string> problems_;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(PebsFallback, RecordingGoesOnWithAnInterruptPerSample) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::size_t before = run(false);
  ASSERT_TRUE(step_until(*recorder_, seconds(1), [&] { return kernel_.target_event(true).has_value(); }));
  const auto event = *kernel_.target_event(true);
  EXPECT_EQ(event.attr.clockid, CLOCK_MONOTONIC_RAW);
  // The recording is admitted to the reader before its rings are read.
  for (int i = 0; i < 10; ++i) kernel_.sample(event, kernel_.now());
  step_for(*recorder_, milliseconds(200));
  recorder_->run([] {});  // a status is published after it
  const std::string row = recorder_->status().sampling_notes;
  recorder_->stop();
  EXPECT_NE(
      row.find("an interrupt per PEBS sample (this kernel gives the records the time of the buffer's drain)"),
      std::string::npos)
      << row;
  EXPECT_NE(row.find("earlier PEBS samples may be stamped late"), std::string::npos) << row;
  ASSERT_EQ(problems_.size(), 1u);
  EXPECT_NE(problems_[0].find("an interrupt per PEBS sample from now on"), std::string::npos);
  // What was recorded before is neither hidden nor lost, and the process has not ended in between.
  const profile::Accounting total = recorder_->status().total;
  EXPECT_EQ(total.received, before + 10);
  EXPECT_EQ(sink_.samples.size() + total.late, total.received);
  EXPECT_EQ(sink_.samples_of({kTarget, 1}).size(), sink_.samples.size());
}

// A recording that begins later does not try large PEBS again.
TEST_F(PebsFallback, LaterRecordingsBeginWithAnInterruptPerSample) {
  ASSERT_NO_FATAL_FAILURE(start());
  run(false);
  ASSERT_TRUE(step_until(*recorder_, seconds(1), [&] { return kernel_.target_event(true).has_value(); }));
  kernel_.add_threads(4243, {4243});
  capture::CaptureOptions options;
  options.events.push_back({.name = "cycles:pp",
                            .mechanism = capture::Mechanism::kPebs,
                            .unit = profile::Unit::kEvents,
                            .period = kPeriod,
                            .type = PERF_TYPE_HARDWARE,
                            .precise_ip = 2});
  options.placement = capture::Placement::kPerThread;
  ASSERT_TRUE(recorder_->attach({{4243, 1}, "later"}, options).ok());
  bool found = false;
  recorder_->run([&] {
    for (const auto& each : kernel_.opened()) {
      if (each.pid == 4243 && each.attr.precise_ip > 0) found = each.attr.use_clockid;
    }
  });
  EXPECT_TRUE(found);
  recorder_->stop();
}

// The control: the same machinery, records with their own times.
TEST_F(PebsFallback, RecordsWithTheirOwnTimesChangeNothing) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::size_t written = run(true);
  step_for(*recorder_, milliseconds(200));
  EXPECT_FALSE(kernel_.target_event(true));
  recorder_->stop();
  EXPECT_TRUE(problems_.empty()) << problems_[0];
  EXPECT_EQ(recorder_->status().total.received, written);
}

// After a while other events take the place of the first ones, with another period and many records an
// interrupt as before.
TEST_F(PebsFallback, PeriodsAreDrawnAnew) {
  ASSERT_NO_FATAL_FAILURE(start());
  const auto first = *kernel_.target_event(false);
  const auto drawn = [&] {
    std::set<std::uint64_t> periods;
    recorder_->run([&] {
      for (const auto& each : kernel_.opened()) {
        if (each.pid != kTarget || each.attr.precise_ip == 0) continue;
        periods.insert(each.attr.sample_period);
        EXPECT_FALSE(each.attr.use_clockid) << "its times are still its own";
        EXPECT_NE(each.attr.wakeup_watermark, 1u);
      }
    });
    return periods.size();
  };
  EXPECT_EQ(drawn(), 1u);
  EXPECT_TRUE(step_until(*recorder_, seconds(11), [&] { return drawn() == 2; }));
  EXPECT_TRUE(step_until(*recorder_, seconds(11), [&] { return drawn() == 3; }));
  EXPECT_GE(first.attr.sample_period, kPeriod / 2);
  recorder_->stop();
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

}  // namespace
}  // namespace tailor::session
