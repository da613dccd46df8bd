#include "daemon/pipeline/kept_activity.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tailor::pipeline {
namespace {

using process::ThreadContext;
using profile::ActivityRecord;

constexpr ProcessId kProcess{42, 7};
constexpr TimeNs kMs = 1'000'000;

struct Mark {
  TimeNs time;
  tailor_log_kind kind;
  std::uint64_t number;  // handle of an execution, else id
  bool operator==(const Mark&) const = default;
};

std::vector<Mark> marks_of(const std::vector<ActivityRecord>& records) {
  std::vector<Mark> marks;
  for (const ActivityRecord& r : records) marks.push_back({r.time, r.kind, r.id != 0 ? r.id : r.a});
  return marks;
}

// How long the marks say that each (pipeline, component) lasted.
std::map<std::pair<std::uint32_t, std::uint32_t>, TimeNs> lengths(const std::vector<ActivityRecord>& records,
                                                                  TimeNs end) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, TimeNs> sums;
  std::pair<std::uint32_t, std::uint32_t> now{0, 0};
  TimeNs since = 0;
  for (const ActivityRecord& r : records) {
    sums[now] += r.time - since;
    since = r.time;
    if (r.kind == TAILOR_LOG_PIPELINE_BEGIN) now.first = r.id;
    if (r.kind == TAILOR_LOG_PIPELINE_END) now.first = 0;
    if (r.kind == TAILOR_LOG_COMPONENT_BEGIN) now.second = r.id;
    if (r.kind == TAILOR_LOG_COMPONENT_END) now.second = 0;
  }
  sums[now] += end - since;
  return sums;
}

TEST(KeptActivity, WhatLastsIsKeptWithItsTimes) {
  KeptActivity keep(kProcess, 44);
  std::vector<ActivityRecord> out;
  keep.change({.execution = 5, .plan = 1}, 10 * kMs, out);
  keep.change({.execution = 5, .plan = 1, .pipeline = 2}, 12 * kMs, out);
  keep.change({.execution = 5, .plan = 1, .pipeline = 2, .component = 9}, 15 * kMs, out);
  keep.change({.execution = 5, .plan = 1}, 17 * kMs, out);
  keep.change({}, 20 * kMs, out);
  keep.settle(30 * kMs, out);
  EXPECT_EQ(marks_of(out), (std::vector<Mark>{{10 * kMs, TAILOR_LOG_EXECUTION_BEGIN, 5},
                                              {12 * kMs, TAILOR_LOG_PIPELINE_BEGIN, 2},
                                              {15 * kMs, TAILOR_LOG_COMPONENT_BEGIN, 9},
                                              {17 * kMs, TAILOR_LOG_COMPONENT_END, 9},
                                              {17 * kMs, TAILOR_LOG_PIPELINE_END, 2},
                                              {20 * kMs, TAILOR_LOG_EXECUTION_END, 5}}));
  EXPECT_EQ(out[0].b, 1u);
  EXPECT_EQ(out[0].tid, 44);
  EXPECT_TRUE(keep.idle());
}

// Morsels of 40 us, with 200 ns of scheduling between: one span.
TEST(KeptActivity, MorselsOfAPipelineAreOneSpan) {
  KeptActivity keep(kProcess, 44);
  std::vector<ActivityRecord> out;
  const ThreadContext morsel{.execution = 5, .plan = 1, .pipeline = 2};
  const ThreadContext between{.execution = 5, .plan = 1, .pipeline = 2, .component = 9};
  TimeNs time = 0;
  for (int i = 0; i < 25'000; ++i) {
    keep.change(morsel, time += 200, out);
    keep.change(between, time += 40'000, out);
  }
  keep.change({}, time += 200, out);
  keep.settle(time + kMs, out);
  EXPECT_LE(out.size(), 6u);
  const auto sums = lengths(out, time + kMs);
  EXPECT_NEAR(static_cast<double>(sums.at({2, 0})), static_cast<double>(time), 2e6);
}

// Whatever an engine marks, a second costs no more than a few thousand records, and they nest.
TEST(KeptActivity, ChangesThatAreTooShortToBeSeenCostNothing) {
  std::mt19937_64 random(7);
  KeptActivity keep(kProcess, 44);
  std::vector<ActivityRecord> out;
  TimeNs time = 0;
  int changes = 0;
  for (; time < 1000 * kMs; ++changes) {
    time += 1'000 + static_cast<TimeNs>(random() % 20'000);
    keep.change({.execution = random() % 3,
                 .plan = 1,
                 .pipeline = static_cast<std::uint32_t>(random() % 3),
                 .component = static_cast<std::uint32_t>(random() % 3)},
                time, out);
  }
  EXPECT_GT(changes, 50'000);
  EXPECT_LT(out.size(), 6'000u);
  std::vector<std::pair<tailor_log_kind, std::uint64_t>> open;
  TimeNs last = 0;
  for (const ActivityRecord& r : out) {
    EXPECT_GE(r.time, last);
    last = r.time;
    const std::uint64_t number = r.id != 0 ? r.id : r.a;
    if (r.kind % 2 == 1) {
      open.emplace_back(r.kind, number);
    } else {
      ASSERT_FALSE(open.empty());
      EXPECT_EQ(open.back(), std::pair(static_cast<tailor_log_kind>(r.kind - 1), number));
      open.pop_back();
    }
  }
}

// 70 % of short changes are one component's: it is what the marks say, and not the other.
TEST(KeptActivity, OfShortStatesTheLongestIsTold) {
  KeptActivity keep(kProcess, 44);
  std::vector<ActivityRecord> out;
  TimeNs time = 0;
  while (time < 100 * kMs) {
    keep.change({.component = 1}, time, out);
    keep.change({.component = 2}, time += 70'000, out);
    time += 30'000;
  }
  keep.settle(time, out);
  const auto sums = lengths(out, time);
  EXPECT_GT(static_cast<double>(sums.at({0, 1})), 0.97 * static_cast<double>(time));
}

TEST(KeptActivity, ALongStateIsToldBeforeItEnds) {
  KeptActivity keep(kProcess, 44);
  std::vector<ActivityRecord> out;
  keep.change({.component = 1}, 0, out);
  keep.advance(kMs / 2, out);
  EXPECT_TRUE(out.empty());
  keep.advance(2 * kMs, out);
  EXPECT_EQ(marks_of(out), (std::vector<Mark>{{0, TAILOR_LOG_COMPONENT_BEGIN, 1}}));
  keep.change({}, 3 * kMs, out);
  keep.advance(5 * kMs, out);
  EXPECT_EQ(out.back().time, 3 * kMs);
  EXPECT_TRUE(keep.idle());
}

}  // namespace
}  // namespace tailor::pipeline
