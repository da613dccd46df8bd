#include "daemon/session/rates.h"

#include <gtest/gtest.h>

#include <utility>

#include "daemon/session/rate_spans.h"

namespace tailor::session {
namespace {

constexpr ProcessId kOne{1, 10}, kTwo{2, 20};

Rate rate(std::uint64_t frequency, TimeNs until = kTimeMax) {
  return {frequency, until, "asked for", std::make_shared<const capture::CaptureOptions>()};
}

std::uint64_t frequency_of(const Rates& rates, ProcessId process) {
  const Rate* found = rates.of(process);
  return found == nullptr ? 0 : found->frequency;
}

TEST(Rates, AProcessesOwnGoesBeforeThatOfAll) {
  Rates rates;
  EXPECT_EQ(frequency_of(rates, kOne), 0u);
  ASSERT_TRUE(rates.set(std::nullopt, rate(200)));
  ASSERT_TRUE(rates.set(kOne, rate(997)));
  EXPECT_EQ(frequency_of(rates, kOne), 997u);
  EXPECT_EQ(frequency_of(rates, kTwo), 200u);
  EXPECT_TRUE(rates.has_own(kOne));
  EXPECT_FALSE(rates.has_own(kTwo));
  EXPECT_TRUE(rates.reset(kOne));
  EXPECT_FALSE(rates.reset(kOne));
  EXPECT_EQ(frequency_of(rates, kOne), 200u);
  EXPECT_TRUE(rates.reset(std::nullopt));
  EXPECT_TRUE(rates.empty());
}

TEST(Rates, EndWhenTheirTimeIsOver) {
  Rates rates;
  ASSERT_TRUE(rates.set(std::nullopt, rate(200, 100)));
  ASSERT_TRUE(rates.set(kOne, rate(997, 50)));
  EXPECT_FALSE(rates.expire(49));
  EXPECT_TRUE(rates.expire(50));
  EXPECT_EQ(frequency_of(rates, kOne), 200u);
  EXPECT_TRUE(rates.expire(100));
  EXPECT_TRUE(rates.empty());
  EXPECT_FALSE(rates.expire(200));
}

TEST(Rates, AreBounded) {
  Rates rates;
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(Rates::kMostRates); ++i)
    ASSERT_TRUE(rates.set(ProcessId{i + 1, 1}, rate(100 + static_cast<std::uint64_t>(i))));
  const Status refused = rates.set(ProcessId{9, 1}, rate(500));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(rates.of({9, 1}), nullptr);
  EXPECT_TRUE(rates.set(ProcessId{9, 1}, rate(100))) << "one that is there already";
  EXPECT_TRUE(rates.set(ProcessId{2, 1}, rate(500))) << "in the place of the only one of its kind";
  std::size_t many = 0;
  for (std::int32_t pid = 100; pid < 1000 && rates.set(ProcessId{pid, 1}, rate(100)); ++pid) ++many;
  EXPECT_LE(many, Rates::kMostProcesses);
  EXPECT_GT(many, Rates::kMostProcesses / 2);
}

// Timers are not shared by samples that bring more.
TEST(Rates, CountWhatSamplesBring) {
  Rates rates;
  const auto with = [](bool callchain, bool memory) {
    capture::CaptureOptions options;
    options.callchain = callchain;
    options.all_registers = memory;
    return Rate{100, kTimeMax, "asked for", std::make_shared<const capture::CaptureOptions>(options)};
  };
  ASSERT_EQ(Rates::kMostRates, 4u);
  ASSERT_TRUE(rates.set(ProcessId{1, 1}, with(false, false)));
  ASSERT_TRUE(rates.set(ProcessId{2, 1}, with(true, false)));
  ASSERT_TRUE(rates.set(ProcessId{3, 1}, with(false, true)));
  ASSERT_TRUE(rates.set(ProcessId{4, 1}, with(true, true)));
  EXPECT_TRUE(rates.set(ProcessId{5, 1}, with(true, false))) << "one that is there already";
  EXPECT_FALSE(rates.set(ProcessId{6, 1}, rate(200)));
}

// A program of BPF takes timers, and perf what needs a call chain of its own.
TEST(Rates, KnowWhereCallChainsWouldChangeTheSources) {
  capture::CaptureOptions options;
  options.events = {capture::cpu_clock(100), capture::off_cpu()};
  EXPECT_TRUE(keeps_sources_with_chains(options));
  std::swap(options.events[0], options.events[1]);
  EXPECT_FALSE(keeps_sources_with_chains(options));
}

TEST(RateSpans, SayFromWhenToWhen) {
  RateSpans spans;
  EXPECT_TRUE(spans.begin(kOne, 100, 997, "a"));
  EXPECT_FALSE(spans.begin(kOne, 150, 997, "a")) << "it goes on";
  EXPECT_TRUE(spans.begin(kOne, 200, 500, "a"));
  EXPECT_TRUE(spans.begin(kTwo, 250, 500, "a"));
  EXPECT_TRUE(spans.end(kOne, 300));
  EXPECT_FALSE(spans.end(kOne, 400));
  ASSERT_EQ(spans.list().size(), 3u);
  EXPECT_EQ(spans.list()[0].to, 200);
  EXPECT_EQ(spans.list()[1].to, 300);
  EXPECT_EQ(spans.list()[2].to, kTimeMax);
  EXPECT_EQ(spans.open(kOne), nullptr);
  ASSERT_NE(spans.open(kTwo), nullptr);
  EXPECT_EQ(spans.open(kTwo)->frequency, 500u);
}

TEST(RateSpans, KeepTheNewestAndAllThatGoOn) {
  RateSpans spans;
  spans.begin(kTwo, 1, 997, "a");
  for (TimeNs i = 0; i < 1000; ++i) {
    spans.begin(kOne, 10 + 10 * i, 997, "a");
    spans.end(kOne, 15 + 10 * i);
  }
  EXPECT_LE(spans.list().size(), RateSpans::kMostOver + 1);
  EXPECT_EQ(spans.list().front().process, kTwo);
  EXPECT_EQ(spans.list().back().from, 10 + 10 * 999);
}

}  // namespace
}  // namespace tailor::session
