#include "daemon/capture/host/capture_reader.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "daemon/os/os.h"
#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using std::chrono::milliseconds;

// The reader's sleep: each is over when the test says so.
class PlayedSleep {
 public:
  void begin(milliseconds timeout) {
    std::unique_lock lock(mutex_);
    timeout_ = timeout;
    ++begun_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return awake_ || ended_ == begun_; });
  }
  // For how long it wants to sleep, now that it does.
  milliseconds next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return begun_ > ended_; });
    return timeout_;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = begun_;
    changed_.notify_all();
  }
  void stay_awake() {
    const std::lock_guard lock(mutex_);
    awake_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  milliseconds timeout_{};
  int begun_ = 0, ended_ = 0;
  bool awake_ = false;
};

class PlayedPoller : public os::Poller {
 public:
  explicit PlayedPoller(PlayedSleep& sleep) : sleep_(sleep) {}
  Status add(int, std::uint64_t) override { return Ok{}; }
  void remove(int) override {}
  Result<std::vector<os::Ready>> wait(milliseconds timeout) override {
    sleep_.begin(timeout);
    return std::vector<os::Ready>{};
  }

 private:
  PlayedSleep& sleep_;
};

class PlayedOs : public test::FakeOs {
 public:
  explicit PlayedOs(PlayedSleep& sleep) : sleep_(sleep) {}
  Result<std::unique_ptr<os::Poller>> make_poller() override {
    return std::unique_ptr<os::Poller>(std::make_unique<PlayedPoller>(sleep_));
  }

 private:
  PlayedSleep& sleep_;
};

// What a recording has at its next drain, and what it was told.
struct Played {
  std::atomic<bool> has_records = false, seldom = false;
  bool wakes = true, samples = true;
};

class PlayedRecording : public Recording {
 public:
  explicit PlayedRecording(Played& played) : played_(played) {
    if (played.samples) sources_.push_back({});
  }
  pid_t pid() const override { return -1; }
  const std::vector<profile::Source>& sources() const override { return sources_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  std::size_t ring_count() const override { return 0; }
  void number_rings(RingIndex) override {}
  void drain(ChunkSink& sink) override {
    if (played_.has_records.exchange(false)) sink.on_chunk({0, std::vector<std::byte>(8)});
  }
  bool set_seldom_read(bool seldom) override {
    played_.seldom = seldom && played_.wakes;
    return played_.wakes;
  }
  void finish(ChunkSink&) override {}
  int poll_fd(std::size_t) const override { return -1; }
  int next_poll_fd(std::size_t) override { return -1; }
  CaptureCounts counts() override { return {}; }

 private:
  Played& played_;
  std::vector<profile::Source> sources_;
  std::vector<std::string> notes_;
};

class NoSink : public ChunkSink {
 public:
  void on_ring(const RingLayout&) override {}
  void on_chunk(RingChunk&&) override {}
  void on_round(TimeNs) override {}
  void on_ring_closed(RingIndex) override {}
};

class CaptureReaderTest : public testing::Test {
 protected:
  CaptureReaderTest()
      : reader(
            os, sink, [](RecordingNumber, const CaptureCounts&) {},
            [this](os::Os&, pid_t, const CaptureOptions&) -> Result<std::unique_ptr<Recording>> {
              return std::unique_ptr<Recording>(std::make_unique<PlayedRecording>(played));
            }) {}
  ~CaptureReaderTest() override {
    sleep.stay_awake();
    reader.stop();
  }
  void begin() {
    ASSERT_TRUE(reader.start().ok());
    ASSERT_TRUE(reader.attach(1, {}).ok());
    round();  // it may sleep already
  }
  // Ends the sleep. For how long the next one is to be.
  milliseconds round() {
    (void)sleep.next();
    sleep.end();
    return sleep.next();
  }

  PlayedSleep sleep;
  PlayedOs os{sleep};
  Played played;
  NoSink sink;
  CaptureReader reader;
};

TEST_F(CaptureReaderTest, WhereNothingComesItSleepsLongAndIsWokenByWhatComes) {
  begin();
  int short_rounds = 0;
  while (round() == milliseconds(50)) ASSERT_LT(++short_rounds, 100);
  EXPECT_GE(short_rounds, 4) << "it has slept some before";
  EXPECT_TRUE(played.seldom);
  EXPECT_EQ(round(), milliseconds(1000));
  played.has_records = true;
  EXPECT_EQ(round(), milliseconds(50));
  EXPECT_FALSE(played.seldom);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(round(), milliseconds(50));
}

// What was told to wake it may have come a moment before that.
TEST_F(CaptureReaderTest, ItLooksOnceMoreBeforeItSleepsLong) {
  begin();
  while (!played.seldom) EXPECT_EQ(round(), milliseconds(50));
  played.has_records = true;
  EXPECT_EQ(round(), milliseconds(50));
  EXPECT_FALSE(played.seldom);
}

TEST_F(CaptureReaderTest, WhereNobodyIsSampledItSleepsEvenLonger) {
  played.samples = false;
  begin();
  while (round() == milliseconds(50)) {
  }
  EXPECT_EQ(round(), milliseconds(5000));
  played.has_records = true;
  EXPECT_EQ(round(), milliseconds(50)) << "what the kernel says of its code is taken";
  played.samples = true;
  ASSERT_TRUE(reader.attach(2, {}).ok());
  while (round() == milliseconds(50)) {
  }
  EXPECT_EQ(round(), milliseconds(1000));
}

TEST_F(CaptureReaderTest, WhereNothingWouldWakeItItGoesOnLooking) {
  played.wakes = false;
  begin();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(round(), milliseconds(50));
  EXPECT_FALSE(played.seldom);
}

TEST_F(CaptureReaderTest, ByStepItReadsWhenItIsToldTo) {
  sleep.stay_awake();
  ASSERT_TRUE(reader.start(CaptureReader::Rounds::kByStep).ok());
  ASSERT_TRUE(reader.attach(1, {}).ok());
  played.has_records = true;
  reader.step();
  EXPECT_FALSE(played.has_records);
  played.has_records = true;
  reader.stop();
  EXPECT_FALSE(played.has_records) << "it reads once more at its end";
  played.has_records = true;
  reader.step();
  EXPECT_TRUE(played.has_records) << "it has stopped";
}

TEST_F(CaptureReaderTest, WhoWantsEverythingNowIsServedAtOnce) {
  begin();
  while (round() == milliseconds(50)) {
  }
  reader.hurry();
  EXPECT_EQ(round(), milliseconds(50));
}

}  // namespace
}  // namespace tailor::capture
