// An activity log that was overrun: what nobody read is nobody's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>

#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

using profile::How;
using profile::Reason;

class LostMarksTest : public PipelineTest {
 protected:
  static constexpr std::int32_t kThread = 44;
  static constexpr std::uint64_t kOutside = 0x7f00'0000'0000;

  static tailor_log_record mark(tailor_log_kind kind, TimeNs time, std::uint32_t id, std::uint64_t a = 0,
                                std::uint64_t b = 0) {
    tailor_log_record record{};
    record.tsc = static_cast<std::uint64_t>(time);
    record.kind = static_cast<std::uint16_t>(kind);
    record.id = id;
    record.a = a;
    record.b = b;
    return record;
  }
  void logged(std::vector<tailor_log_record> records, std::uint64_t lost = 0) {
    registration::ActivityRecords event;
    event.process = kProcess;
    event.tid = kThread;
    event.records = std::move(records);
    event.lost = lost;
    pipeline.on_activity(event);
  }
  const profile::SampleRecord& at(TimeNs time) const {
    for (const profile::SampleRecord& sample : sink.samples) {
      if (sample.time == time) return sample;
    }
    ADD_FAILURE() << "no sample at " << time;
    std::abort();
  }
};

// A thread works in turn for two components, 50.5 % and 49.5 %; its log holds 64 records and is read every
// 10 ms, in which it writes 400.
class OverrunTest : public LostMarksTest {
 protected:
  static constexpr TimeNs kEnd = 2'000'000'000;

  // `told`: the reader of the log says how many it did not find.
  void record(bool told) {
    start_engine();
    constexpr TimeNs kPeriod = 100'000, kFirst = 50'500, kDrain = 10'000'000;
    constexpr std::size_t kCapacity = 64;
    std::vector<tailor_log_record> unread;
    TimeNs next_drain = kDrain;
    for (TimeNs begin = 0; begin < kEnd; begin += kPeriod) {
      unread.push_back(mark(TAILOR_LOG_COMPONENT_BEGIN, ms(1) + begin, 1));
      unread.push_back(mark(TAILOR_LOG_COMPONENT_END, ms(1) + begin + kFirst, 1));
      unread.push_back(mark(TAILOR_LOG_COMPONENT_BEGIN, ms(1) + begin + kFirst, 2));
      unread.push_back(mark(TAILOR_LOG_COMPONENT_END, ms(1) + begin + kPeriod, 2));
      if (begin + kPeriod < next_drain) continue;
      // The last mark before each gap is the begin of the first component.
      constexpr std::size_t kLate = 3;
      std::vector<tailor_log_record> later(unread.end() - static_cast<std::ptrdiff_t>(kLate), unread.end());
      unread.resize(unread.size() - kLate);
      const std::size_t overrun = unread.size() > kCapacity ? unread.size() - kCapacity : 0;
      unread.erase(unread.begin(), unread.begin() + static_cast<std::ptrdiff_t>(overrun));
      logged(unread, told ? overrun : 0);
      unread = later;
      next_drain += kDrain;
    }
    std::uint64_t random = 1;
    for (TimeNs time = ms(1); time < kEnd; time += 20'000 + static_cast<TimeNs>(random >> 33) % 20'000) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      script.sample(42, kThread, time, kOutside);
    }
    script.read();
    pipeline.flush(kEnd);
    for (const profile::SampleRecord& sample : sink.samples) {
      const profile::Attribution& attribution = sample.attribution;
      if (attribution.how == How::kComponentInterval) {
        ++samples[attribution.engine_component];
      } else {
        ++(attribution.reason == Reason::kMarksLost ? lost : other);
      }
    }
  }
  double known() { return samples[1] + samples[2]; }
  std::map<std::uint32_t, double> samples;  // by component
  double lost = 0, other = 0;
};

TEST_F(OverrunTest, SharesOfWhatIsKnownAreTrueAndTheRestIsUnattributed) {
  record(true);
  ASSERT_GT(known(), 5000);
  EXPECT_NEAR(samples[1] / known(), 0.505, 0.03);
  EXPECT_NEAR(lost / (known() + lost), 1 - 64.0 / 400, 0.03) << "what the log could not hold";
  EXPECT_LE(other, 0.01 * known());
  const profile::Accounting& account = sink.accounting.at(kProcess);
  EXPECT_EQ(account.unattributed, static_cast<std::uint64_t>(lost + other));
  EXPECT_GT(account.log_lost, 0u);
}

// The twin: the time of the gap is that of the last mark before it.
TEST_F(OverrunTest, SharesAreWrongWhereNobodySaysThatMarksAreLost) {
  record(false);
  ASSERT_GT(known(), 5000);
  EXPECT_GT(std::abs(samples[1] / known() - 0.505), 0.03);
  EXPECT_EQ(lost, 0);
}

TEST_F(LostMarksTest, CodeIsStillThatOfItsOperatorAndOfTheOneExecutionOfItsPlan) {
  start_engine();
  script.begin(kProcess, ms(1), 5, 1);
  logged({mark(TAILOR_LOG_EXECUTION_BEGIN, ms(1), 0, 5, 1)});
  logged({mark(TAILOR_LOG_MORSEL_BEGIN, ms(4), 1), mark(TAILOR_LOG_MORSEL_END, ms(6), 1)}, 100);
  script.begin(kProcess, ms(8), 6, 1);
  for (TimeNs time : {ms(3), ms(5), ms(9)}) script.sample(42, kThread, time, kCode + 16);
  script.sample(42, kThread, us(3500), kOutside);
  script.read();
  pipeline.flush(ms(10));
  EXPECT_EQ(at(ms(3)).attribution.how, How::kCode);
  EXPECT_EQ(at(ms(3)).attribution.execution, 5u) << "no other one of the plan ran";
  EXPECT_EQ(at(ms(5)).attribution.execution, 5u);
  EXPECT_EQ(at(ms(9)).attribution.how, How::kCode);
  EXPECT_EQ(at(ms(9)).attribution.execution, 0u) << "two of the plan run, and nothing says for which";
  EXPECT_EQ(at(us(3500)).attribution.reason, Reason::kMarksLost);
  EXPECT_EQ(at(us(3500)).attribution.execution, 0u);
  EXPECT_EQ(sink.accounting.at(kProcess).executions_unknown, 1u);
}

TEST_F(LostMarksTest, WhatWasOverwrittenBeforeTheAgentWasHeardOfIsNotMissing) {
  script.hello(kProcess, 1, ms(10));
  logged({mark(TAILOR_LOG_COMPONENT_END, ms(9), 1), mark(TAILOR_LOG_COMPONENT_BEGIN, ms(12), 2)}, 5000);
  script.sample(42, kThread, ms(11), kOutside);
  script.sample(42, kThread, ms(13), kOutside);
  script.read();
  pipeline.flush(ms(20));
  EXPECT_EQ(sink.accounting.at(kProcess).log_lost, 0u);
  EXPECT_EQ(at(ms(11)).attribution.reason, Reason::kMarksLost) << "and yet nothing says what is still open";
  EXPECT_EQ(at(ms(13)).attribution.engine_component, 2u);
}

}  // namespace
}  // namespace tailor::pipeline
