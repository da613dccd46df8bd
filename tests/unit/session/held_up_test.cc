// What others are told while the control thread of a recorder is held up.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <thread>

#include "daemon/session/recorder.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/fake_os.h"

namespace tailor::session {
namespace {

class Host : public test::FakeOs {
 public:
  TimeNs now() override { return os::real().now(); }
  void sleep(std::chrono::nanoseconds duration) override { os::real().sleep(duration); }
  Result<std::unique_ptr<os::Poller>> make_poller() override { return os::real().make_poller(); }
};

class HeldUp : public testing::Test {
 protected:
  void SetUp() override {
    RecorderOptions options;
    options.agent_socket = (directory_.path() / "agent.sock").string();
    options.on_publish = [this] { ++published_; };
    auto started = Recorder::start(host_, options, sink_, [](const pipeline::Problem&) {});
    ASSERT_TRUE(started.ok()) << started.error().message;
    recorder_ = std::move(*started);
  }

  test::TemporaryDirectory directory_;
  Host host_;
  test::CollectingSink sink_;
  // Waits for the recorder, which publishes a status then.
  void wait_for_a_turn() {
    recorder_->run([] {});
  }

  std::atomic<int> published_ = 0;
  std::unique_ptr<Recorder> recorder_;
};

TEST_F(HeldUp, AStatusIsTheLastOneAndSaysFromWhen) {
  std::latch held(1), go(1);
  std::jthread asker([&] {
    recorder_->run([&] {
      held.count_down();
      go.wait();
    });
  });
  held.wait();
  const TimeNs before = recorder_->status().published;
  EXPECT_GT(before, 0);
  EXPECT_EQ(recorder_->held_up().count(), 0);
  recorder_->ask_for_status();
  while (recorder_->held_up() < std::chrono::milliseconds(1)) std::this_thread::yield();
  recorder_->ask_for_status();
  EXPECT_GE(recorder_->held_up(), std::chrono::milliseconds(1)) << "it is the first who waits";
  EXPECT_EQ(recorder_->status().published, before) << "and nobody who asks waits for it";
  go.count_down();
  asker.join();
  wait_for_a_turn();
  EXPECT_GT(recorder_->status().published, before);
  EXPECT_EQ(recorder_->held_up().count(), 0);
}

TEST_F(HeldUp, WhatElseIsPublishedIsThereBefore) {
  const int before = published_;
  wait_for_a_turn();
  EXPECT_GT(published_, before);
}

TEST_F(HeldUp, WhoAsksIsHeardWithoutAnotherRequest) {
  const TimeNs before = recorder_->status().published;
  recorder_->ask_for_status();
  while (recorder_->held_up().count() != 0) std::this_thread::yield();
  EXPECT_GT(recorder_->status().published, before);
}

TEST_F(HeldUp, ARecorderThatHasStoppedIsNotHeldUp) {
  recorder_->stop();
  recorder_->ask_for_status();
  EXPECT_EQ(recorder_->held_up().count(), 0);
  EXPECT_GT(recorder_->status().published, 0);
}

}  // namespace
}  // namespace tailor::session
