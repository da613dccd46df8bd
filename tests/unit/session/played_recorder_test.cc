// What a recorder gives of what a kernel that we play has sampled: all of it, or how much is missing.
#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/session/flushes.h"
#include "daemon/session/recorder.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/played_kernel.h"

namespace tailor::session {
namespace {

constexpr pid_t kTarget = 4242;

capture::CaptureOptions small_rings() {
  capture::CaptureOptions options;
  options.events.push_back(capture::cpu_clock(1000));
  options.sampled_by = capture::SampledBy::kPerf;
  options.placement = capture::Placement::kPerThread;
  options.jitter = false;
  options.ring_bytes = std::size_t{32} << 10;
  return options;
}

class PlayedRecorder : public testing::Test {
 protected:
  void SetUp() override {
    kernel_.add_process(kTarget);
    RecorderOptions live;
    live.agent_socket = (directory_.path() / "agent.sock").string();
    live.by_step = true;
    live.capture = small_rings();
    auto started = Recorder::start(kernel_, live, sink_, [this](const pipeline::Problem& problem) {
      problems_.push_back(problem.text);
    });
    ASSERT_TRUE(started.ok()) << started.error().message;
    recorder_ = std::move(*started);
    const Status attached = recorder_->attach({{kTarget, 1}, "target"}, live.capture);
    ASSERT_TRUE(attached.ok()) << attached.error().message;
  }
  void sample(int count) {
    kernel_.sample_now(kernel_.event_of(kTarget), count);
    taken_ += static_cast<std::uint64_t>(count);
  }
  profile::Accounting total() { return recorder_->status().total; }

  test::TemporaryDirectory directory_;
  test::PlayedKernel kernel_;
  test::CollectingSink sink_;
  std::vector<std::string> problems_;
  std::unique_ptr<Recorder> recorder_;
  std::uint64_t taken_ = 0;
};

// It waits for two rounds of the reader, not for its patience to end.
TEST_F(PlayedRecorder, AFlushGivesOutAllThatWasTakenBefore) {
  sample(5);
  const TimeNs before = kernel_.now();
  recorder_->flush();
  EXPECT_LT(kernel_.now() - before, Flushes::kPatience / 4);
  EXPECT_EQ(sink_.samples.size(), taken_);
  sample(7);
  EXPECT_EQ(sink_.samples.size(), taken_ - 7) << "without a step nothing is read";
  recorder_->stop();
  EXPECT_EQ(sink_.samples.size(), taken_);
  EXPECT_TRUE(problems_.empty()) << problems_[0];
}

// The reader comes late, three times. The last time nothing is written after it that could tell of a loss.
TEST_F(PlayedRecorder, WhatTheRingsHadNoRoomForIsToldToTheSample) {
  for (const int count : {1, 5000, 10, 3000}) {
    sample(count);
    recorder_->step(test::kStep);
  }
  sample(4000);
  recorder_->stop();
  EXPECT_GT(total().received, 0u);
  EXPECT_GT(total().lost_ring, 4000u);
  EXPECT_EQ(total().received + total().lost_ring, taken_);
  EXPECT_EQ(sink_.samples.size() + total().late, total().received);
}

TEST_F(PlayedRecorder, APauseEndsWithAllThatWasTakenBeforeAndNothingElse) {
  sample(5);
  ASSERT_TRUE(recorder_->pause(kTarget).ok());
  const auto closed = kernel_.event_of(kTarget);
  test::step_for(*recorder_, std::chrono::seconds(1));
  kernel_.sample_now(closed, 3);  // nobody reads that any more
  ASSERT_TRUE(recorder_->resume(kTarget).ok());
  sample(2);
  recorder_->stop();
  EXPECT_EQ(total().received, taken_);
  EXPECT_EQ(total().lost_ring, 0u);
  ASSERT_EQ(sink_.recording.pauses.size(), 1u);
  EXPECT_GE(sink_.recording.pauses[0].to - sink_.recording.pauses[0].from, 1'000'000'000);
}

}  // namespace
}  // namespace tailor::session
