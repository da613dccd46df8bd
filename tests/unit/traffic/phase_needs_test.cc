#include "proto/traffic/phase_needs.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/unit/traffic/played.h"

namespace tailor::traffic {
namespace {

TEST(PhaseNeeds, DistinguishRandomFromSequentialTransfers) {
  const Phase phase{
      .patterns = {scan(1, 8000, 8), updated(probes(2, 1000, 64, 5000)), scatter(3, 800, 16, 8)}};
  const std::vector<PatternTraffic> traffic = {
      {.read = 1000}, {.read = 700, .written = 600}, {.read = 200, .written = 200}};
  const Needs needs = needs_of(phase, traffic, 64, 12345);
  EXPECT_DOUBLE_EQ(needs.read_bytes, 1200 * 64);
  EXPECT_DOUBLE_EQ(needs.written_bytes, 200 * 64);
  EXPECT_DOUBLE_EQ(needs.random_read_bytes, 700 * 64);
  EXPECT_DOUBLE_EQ(needs.random_written_bytes, 600 * 64);
  EXPECT_DOUBLE_EQ(needs.accesses, 8000 + 5000 + 800);
  EXPECT_DOUBLE_EQ(needs.cycles, 12345);
}

TEST(PhaseNeeds, APlanHasATimeAtLeast) {
  // The scan waits for memory, and the probes of a table that fits wait for computation.
  const std::vector<Phase> phases = {{.patterns = {scan(1, 8'000'000, 8)}},
                                     {.patterns = {probes(2, 1000, 64, 1'000'000)}}};
  Result<Estimate> moved = estimate({.lines = 4096}, phases, Ending::kWrittenBack);
  ASSERT_TRUE(moved.ok());
  const Machine machine{
      .read_bytes = 10e9, .moved_bytes = 10e9, .random_read_bytes = 1e9, .accesses = 100e9, .cycles = 3e9};
  std::vector<Needs> needs;
  for (std::size_t i = 0; i < phases.size(); ++i)
    needs.push_back(needs_of(phases[i], moved.value().phases[i], 64, 5'000'000));
  const Bounds first = bounds_of(needs[0], machine), second = bounds_of(needs[1], machine);
  EXPECT_EQ(first.limit, Limit::kRead);
  EXPECT_NEAR(first.seconds, 64e6 / 10e9, 1e-6);
  EXPECT_EQ(second.limit, Limit::kCompute);
  EXPECT_NEAR(second.seconds, 5e6 / 3e9, 1e-9);
  EXPECT_NEAR(bounds_of(needs, machine).seconds, first.seconds + second.seconds, 1e-12);
}

}  // namespace
}  // namespace tailor::traffic
