#include "daemon/clock/drain_times.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace tailor::clock {
namespace {

// A CPU at 3.2 GHz counting cycles in periods of 5000, drained every 64 records.
class Recorder {
 public:
  std::vector<TimeNs> batch(bool own_times) {
    std::vector<TimeNs> times;
    for (int i = 0; i < 64; ++i) {
      now_ += 1560 + static_cast<TimeNs>(random_() % 20);
      times.push_back(now_);
    }
    now_ += 2000;  // the interrupt
    if (own_times) return times;
    for (TimeNs& t : times) t = now_ += 100 + static_cast<TimeNs>(random_() % 80);
    return times;
  }

 private:
  std::mt19937_64 random_{3};
  TimeNs now_ = 1'000'000;
};

RecordTimes judge(int own, int drain, std::uint64_t shortest = shortest_period_ns(5000)) {
  DrainTimeDetector detector(shortest);
  Recorder recorder;
  std::vector<TimeNs> times;
  const auto take = [&](bool own_times) {
    for (TimeNs t : recorder.batch(own_times)) times.push_back(t);
  };
  for (int i = 0; i < own; ++i) take(true);
  for (int i = 0; i < drain; ++i) take(false);
  detector.add(times);
  return detector.verdict();
}

TEST(DrainTimes, TellsOneFromTheOther) {
  EXPECT_EQ(judge(10, 0), RecordTimes::kOwn);
  EXPECT_EQ(judge(0, 10), RecordTimes::kDrain);
}

TEST(DrainTimes, GivesNoVerdictOnLittleOrMixedEvidence) {
  EXPECT_EQ(judge(3, 0), RecordTimes::kUnknown);
  EXPECT_EQ(judge(0, 3), RecordTimes::kUnknown);
  EXPECT_EQ(judge(10, 10), RecordTimes::kUnknown);
  EXPECT_EQ(judge(48, 2), RecordTimes::kOwn);
}

TEST(DrainTimes, GivesNoVerdictWhereTheDrainIsAsSlowAsTheEvent) {
  EXPECT_EQ(judge(10, 0, shortest_period_ns(1000)), RecordTimes::kUnknown);
  EXPECT_EQ(judge(0, 10, shortest_period_ns(1000)), RecordTimes::kUnknown);
}

TEST(DrainTimes, OrderDoesNotMatter) {
  DrainTimeDetector detector(shortest_period_ns(5000));
  Recorder recorder;
  for (int i = 0; i < 10; ++i) {
    std::vector<TimeNs> times = recorder.batch(true);
    std::swap(times.front(), times.back());
    detector.add(times);
  }
  EXPECT_EQ(detector.verdict(), RecordTimes::kOwn);
}

TEST(DrainTimes, ExtremeTimesDoNotOverflow) {
  DrainTimeDetector detector(700);
  const std::vector<TimeNs> extreme{kTimeMin, kTimeMax};
  for (int i = 0; i < 300; ++i) detector.add(extreme);
  EXPECT_EQ(detector.verdict(), RecordTimes::kOwn);
}

}  // namespace
}  // namespace tailor::clock
