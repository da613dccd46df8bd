#include "daemon/formats/busy_counters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace tailor::formats {
namespace {

constexpr TimeNs kMs = 1'000'000;

// Two threads of a process that work for `owners` in turns, a sample each millisecond.
Trace busy(std::uint32_t owners, int samples) {
  Trace out;
  out.sources = {{"cache-misses", "count", 100, false}, {"cpu-clock", "nanoseconds", 1'000'000, false}};
  out.threads = {{7, 7, "engine", "main"}, {7, 8, "engine", "worker"}};
  for (std::uint32_t i = 0; i < owners; ++i) {
    out.labels.push_back({{"operator", "op " + std::to_string(i)}});
    out.owners.push_back("op " + std::to_string(i));
  }
  for (int i = 1; i <= samples; ++i) {
    for (std::uint32_t thread : {0u, 1u})
      out.samples.push_back(
          {1000 * kMs + i * kMs, 1'000'000, thread, 0, static_cast<std::uint32_t>(i) % owners, 1});
    out.samples.push_back({1000 * kMs + i * kMs, 100, 0, 0, 0, 0});
  }
  return out;
}

double area(const BusyCounter& counter) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < counter.values.size(); ++i)
    sum += counter.values[i].cpus * static_cast<double>(counter.values[i + 1].from - counter.values[i].from);
  return sum;
}

std::map<std::string, double> areas(const Trace& trace) {
  std::map<std::string, double> out;
  for (const BusyCounter& counter : busy_counters(trace)) out[counter.name] = area(counter);
  return out;
}

TEST(BusyCounters, TwoThreadsAreTwoCpus) {
  const auto counters = busy_counters(busy(1, 200));
  ASSERT_EQ(counters.size(), 2u);
  ASSERT_EQ(counters[0].name, "CPUs busy");
  ASSERT_EQ(counters[0].values.size(), 2u) << "what does not change is told once";
  EXPECT_EQ(counters[0].values[0].from, 1000 * kMs);
  EXPECT_NEAR(counters[0].values[0].cpus, 2, 1e-9);
  EXPECT_EQ(counters[0].values[1].from, 1200 * kMs);
  EXPECT_EQ(counters[0].values[1].cpus, 0);
}

TEST(BusyCounters, OwnersAddUpAndTheSmallOnesAreOne) {
  Trace trace = busy(20, 200);
  for (TraceSample& sample : trace.samples)
    if (sample.source == 1 && sample.labels == 3) sample.weight *= 2;
  const auto found = areas(trace);
  ASSERT_EQ(found.size(), 1u + 12u + 1u);
  double sum = 0;
  for (const auto& [name, each] : found) sum += name == "CPUs busy" ? 0 : each;
  const double whole = (2 * 200 + 2 * 10) * 1e6;
  EXPECT_NEAR(found.at("CPUs busy"), whole, 1);
  EXPECT_NEAR(sum, whole, 20);
  EXPECT_NEAR(found.at("CPUs: op 3"), 2 * 20e6, 1);
  EXPECT_TRUE(found.contains("CPUs: all others"));
}

TEST(BusyCounters, APauseIsNoCpu) {
  Trace trace = busy(1, 100);
  for (TraceSample& sample : trace.samples)
    if (sample.time > 1050 * kMs) sample.time += 500 * kMs;
  const auto counters = busy_counters(trace);
  const auto& values = counters.front().values;
  const auto pause = std::ranges::find_if(values, [](const auto& value) { return value.cpus == 0; });
  ASSERT_NE(pause, values.end());
  EXPECT_EQ(pause->from, 1050 * kMs);
  EXPECT_NEAR(area(counters.front()), 200e6, 1);
}

TEST(BusyCounters, WorkIsBoundedByTheSlices) {
  Trace trace = busy(1, 10);
  trace.samples.front().weight = UINT64_MAX;  // hostile
  for (const BusyCounter& counter : busy_counters(trace)) EXPECT_LE(counter.values.size(), 2002u);
}

TEST(BusyCounters, WithoutTimeOnTheCpuThereAreNone) {
  Trace trace = busy(1, 10);
  trace.sources[1].off_cpu = true;
  EXPECT_TRUE(busy_counters(trace).empty());
  trace.samples.clear();
  trace.sources[1].off_cpu = false;
  EXPECT_TRUE(busy_counters(trace).empty());
}

}  // namespace
}  // namespace tailor::formats
