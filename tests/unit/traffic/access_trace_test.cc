#include "proto/traffic/access_trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tailor::traffic {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

AccessTrace trace_of(const std::vector<CacheGeometry>& geometries, std::uint32_t accounts = 16) {
  Result<AccessTrace> made = AccessTrace::make(geometries, accounts);
  if (!made.ok()) ADD_FAILURE() << made.error().message;
  return std::move(made).value();
}

TEST(AccessTrace, SortsToComponentsAndRegions) {
  AccessTrace trace = trace_of({{.lines = 4}, {.lines = 64}});
  ASSERT_TRUE(trace.add_region(4096, 640, 7).ok());
  ASSERT_TRUE(trace.add_region(8192, 64, 8).ok());
  for (std::uint64_t i = 0; i < 10; ++i) trace.access(1, 4096 + i * 64, 8, true);
  trace.access(2, 8192, 8, false);
  trace.access(2, 4096, 8, false);
  trace.access(1, 100, 8, false);
  EXPECT_THAT(trace.owners(),
              ElementsAre(TraceOwner{1, 0}, TraceOwner{1, 7}, TraceOwner{2, 7}, TraceOwner{2, 8}));
  EXPECT_EQ(trace.counts().accesses, 13U);
  EXPECT_EQ(trace.counts().in_no_region, 1U);
  EXPECT_EQ(trace.of(0, {1, 7}).fetched, 10U);
  EXPECT_EQ(trace.of(0, {2, 7}).fetched, 1U) << "the small cache has lost it";
  EXPECT_EQ(trace.of(1, {2, 7}).fetched, 0U) << "the large one has not";
  EXPECT_EQ(trace.of(1, {2, 8}).fetched, 1U);
  EXPECT_EQ(trace.of(1, {9, 9}), SimulatedTraffic{});
  trace.flush();
  EXPECT_EQ(trace.of(0, {1, 7}).written, 10U);
  EXPECT_EQ(trace.of(1, {1, 7}).written, 10U);
  EXPECT_EQ(trace.total(1).written, 10U);
}

TEST(AccessTrace, LeavesTheStackOutAndCountsIt) {
  AccessTrace trace = trace_of({{.lines = 4}});
  trace.set_stack(1000, 500);
  trace.access(1, 999, 1, true);
  trace.access(1, 1000, 8, true);
  trace.access(1, 1499, 8, true);
  trace.access(1, 1500, 8, true);
  EXPECT_EQ(trace.counts().accesses, 4U);
  EXPECT_EQ(trace.counts().on_stack, 2U);
  EXPECT_EQ(trace.total(0).accesses, 2U);
}

TEST(AccessTrace, RegionsComeAndGo) {
  AccessTrace trace = trace_of({{.lines = 4}});
  ASSERT_TRUE(trace.add_region(1000, 100, 1).ok());
  trace.access(5, 1050, 8, false);
  EXPECT_TRUE(trace.remove_region(1000));
  EXPECT_FALSE(trace.remove_region(1000));
  trace.access(5, 1050, 8, false);
  ASSERT_TRUE(trace.add_region(1040, 100, 2).ok()) << "the memory is used again";
  trace.access(5, 1050, 8, false);
  EXPECT_THAT(trace.owners(), ElementsAre(TraceOwner{5, 0}, TraceOwner{5, 1}, TraceOwner{5, 2}));
  EXPECT_EQ(trace.of(0, {5, 2}).accesses, 1U);
}

TEST(AccessTrace, RegionsThatAreNotPossibleAreRefused) {
  AccessTrace trace = trace_of({{.lines = 4}});
  EXPECT_FALSE(trace.add_region(1000, 10, 0).ok());
  EXPECT_FALSE(trace.add_region(1000, 0, 1).ok());
  EXPECT_FALSE(trace.add_region(UINT64_MAX, 2, 1).ok());
  ASSERT_TRUE(trace.add_region(UINT64_MAX, 1, 1).ok());
  ASSERT_TRUE(trace.add_region(1000, 100, 2).ok());
  for (const auto& [base, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1000, 100}, {1099, 1}, {900, 101}, {1050, 10}, {900, 1000}}) {
    const Status status = trace.add_region(base, bytes, 3);
    ASSERT_FALSE(status.ok()) << base;
    EXPECT_THAT(status.error().message, HasSubstr("overlaps"));
  }
  EXPECT_TRUE(trace.add_region(900, 100, 3).ok());
  EXPECT_TRUE(trace.add_region(1100, 100, 4).ok());
}

TEST(AccessTrace, MoreOwnersThanAccountsAreCounted) {
  AccessTrace trace = trace_of({{.lines = 4}}, 2);
  for (std::uint32_t component = 1; component <= 3; ++component) trace.access(component, 64, 8, false);
  trace.access(1, 64, 8, false);
  EXPECT_EQ(trace.counts().without_owner, 1U);
  EXPECT_EQ(trace.of(0, {1, 0}).accesses, 2U);
  EXPECT_EQ(trace.total(0).accesses, 3U);
}

TEST(AccessTrace, ImpossibleOnesAreRefused) {
  EXPECT_FALSE(AccessTrace::make({}, 4).ok());
  const std::vector<CacheGeometry> many(AccessTrace::kMostCaches + 1, CacheGeometry{.lines = 4});
  EXPECT_FALSE(AccessTrace::make(many, 4).ok());
  const std::vector<CacheGeometry> empty(1);
  const Result<AccessTrace> made = AccessTrace::make(empty, 4);
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().message, HasSubstr("0 lines"));
}

}  // namespace
}  // namespace tailor::traffic
