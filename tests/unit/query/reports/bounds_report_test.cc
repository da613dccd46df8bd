#include "daemon/query/reports/bounds_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "daemon/query/json/bounds_json.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::HasSubstr;

constexpr std::uint64_t kCache = std::uint64_t{1} << 20;

v1::Access& add_access(v1::Plan& plan, int task, const std::string& region, v1::AccessPattern pattern) {
  v1::Access& access = *plan.mutable_levels(1)->mutable_components(task - 1)->add_accesses();
  access.set_region(region);
  access.set_pattern(pattern);
  access.set_pipeline(2);
  access.set_item_bytes(8);
  access.set_reads(true);
  return access;
}

// Task 4 scans lineitem for operator 5: one column for each of a million rows, one for those that pass.
void add_scan(v1::Plan& plan) {
  add_access(plan, 4, "lineitem.l_shipdate", v1::ACCESS_SEQUENTIAL).mutable_items()->set_fixed(1'000'000);
  v1::Access& some = add_access(plan, 4, "lineitem.l_tax", v1::ACCESS_CONDITIONAL);
  some.mutable_items()->set_fixed(1'000'000);
  some.mutable_accesses()->set_rows_of(5);
}

void count_rows(v1::Plan& plan, int op, double rows) {
  v1::Attribute& attribute = *plan.mutable_levels(0)->mutable_components(op - 1)->add_attributes();
  attribute.set_key("actual_rows");
  attribute.set_number(rows);
}

Profile profile_of(const std::function<void(v1::Plan&)>& change) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 2);
    v1::Plan plan = test::sample_plan();
    change(plan);
    sink.on_plan(test::kSampleProcess, 0, plan);
  });
}

Result<BoundsReport> bounds_of(const Profile& profile, std::uint64_t cache_bytes = kCache) {
  const auto plans = plan_report(profile, {});
  if (!plans) return plans.error();
  return bounds_report(profile, *plans, {.cache_bytes = cache_bytes});
}

Result<BoundsReport> timed_bounds_of(const Profile& profile, const BoundsOptions& options) {
  const auto plans = plan_report(profile, {});
  if (!plans) return plans.error();
  return bounds_report(profile, *plans, options);
}

TEST(BoundsReport, SaysWhatEachOperatorMoves) {
  const Profile profile = profile_of([](v1::Plan& plan) {
    add_scan(plan);
    count_rows(plan, 5, 1'000'000);
  });
  const auto report = bounds_of(profile);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->cache_bytes, kCache);
  EXPECT_EQ(report->silent, 0u);
  ASSERT_EQ(report->plans.size(), 1u);
  const BoundsPart& part = report->plans[0];
  EXPECT_EQ(part.unknown, 0u);
  ASSERT_EQ(part.rows.size(), 2u);
  for (const BoundsRow& row : part.rows) {
    EXPECT_EQ(row.operator_id, 5u);
    EXPECT_EQ(row.operator_name, "Table scan");
    ASSERT_TRUE(row.cost);
    EXPECT_GT(row.cost->share, 0);
    EXPECT_EQ(row.unknown, "");
    EXPECT_EQ(row.items, 1'000'000u);
    EXPECT_NEAR(row.accesses, 1e6, 1e-6);
    EXPECT_NEAR(row.expected.read, 8e6, 1e-3);
    EXPECT_EQ(row.expected.written, 0);
    ASSERT_TRUE(row.least);
    EXPECT_NEAR(row.least->read, 8e6, 1e-3) << "no cache knows it before it is read";
  }
  EXPECT_THAT(part.silent_operators, testing::ElementsAre("Group by", "Hash join", "Filter", "Table scan"))
      << "the other scan";
  EXPECT_EQ(part.rows[0].pattern, "sequential");
  EXPECT_EQ(part.rows[1].pattern, "conditional");
  EXPECT_NEAR(part.expected.read, 16e6, 1e-3);
  EXPECT_NEAR(part.least, 16e6, 1e-3);
}

TEST(BoundsReport, WhatNobodyCountedIsUnknown) {
  const auto report = bounds_of(profile_of(add_scan));
  ASSERT_TRUE(report) << report.error().message;
  const BoundsPart& part = report->plans[0];
  EXPECT_EQ(part.unknown, 1u);
  ASSERT_EQ(part.rows.size(), 2u);
  EXPECT_EQ(part.rows[0].region, "lineitem.l_shipdate");
  EXPECT_THAT(part.rows[1].unknown, HasSubstr("rows of component 5"));
  EXPECT_FALSE(part.rows[1].least);
  EXPECT_NEAR(part.expected.read, 8e6, 1e-3) << "of what is known alone";
  EXPECT_NEAR(part.least, 8e6, 1e-3);
}

TEST(BoundsReport, AnUnknownAccessTakesTheBoundFromItsRegion) {
  // It may bring what the scan reads, so nobody knows what the scan itself has to read.
  const auto report = bounds_of(profile_of([](v1::Plan& plan) {
    add_access(plan, 4, "lineitem.l_shipdate", v1::ACCESS_SEQUENTIAL).mutable_items()->set_fixed(1'000'000);
    add_access(plan, 5, "lineitem.l_shipdate", v1::ACCESS_UNKNOWN);
  }));
  ASSERT_TRUE(report) << report.error().message;
  const BoundsPart& part = report->plans[0];
  ASSERT_EQ(part.rows.size(), 2u);
  EXPECT_NEAR(part.rows[0].expected.read, 8e6, 1e-3);
  EXPECT_FALSE(part.rows[0].least);
  EXPECT_EQ(part.least, 0);
  EXPECT_EQ(part.rows[1].pattern, "unknown");
}

TEST(BoundsReport, SaysWhichNumbersAreNotTheWholeTruth) {
  const auto report = bounds_of(profile_of([](v1::Plan& plan) {
    add_scan(plan);
    count_rows(plan, 5, 1'000'000);
    plan.mutable_levels(1)->mutable_components(3)->mutable_accesses(0)->set_at_least(true);
  }));
  ASSERT_TRUE(report) << report.error().message;
  const BoundsPart& part = report->plans[0];
  ASSERT_EQ(part.rows.size(), 2u);
  EXPECT_TRUE(part.rows[0].at_least);
  EXPECT_FALSE(part.rows[0].assumes_even) << "it is read from one end to the other";
  EXPECT_FALSE(part.rows[1].at_least);
  EXPECT_TRUE(part.rows[1].assumes_even) << "rows that pass may lie together";
  ASSERT_EQ(part.operators.size(), 1u);
  EXPECT_TRUE(part.operators[0].needs_more);
  EXPECT_TRUE(part.operators[0].assumes_even);
  EXPECT_TRUE(part.whole.needs_more);
}

TEST(BoundsReport, ComparesMeasuredTimesWithWhatIsNeeded) {
  const Profile profile = profile_of([](v1::Plan& plan) {
    add_access(plan, 4, "lineitem.l_shipdate", v1::ACCESS_SEQUENTIAL).mutable_items()->set_fixed(1'000'000);
    v1::Computation& work = *plan.mutable_levels(1)->mutable_components(3)->mutable_computation();
    work.set_cycles_per_row(3);
    work.mutable_rows()->set_fixed(1'000'000);
  });
  const auto unhurried = timed_bounds_of(profile, {.cache_bytes = kCache, .runs = 4});
  ASSERT_TRUE(unhurried) << unhurried.error().message;
  const BoundsPart& first = unhurried->plans[0];
  EXPECT_EQ(first.not_measured, "");
  ASSERT_EQ(first.operators.size(), 1u);
  ASSERT_TRUE(first.operators[0].measured);
  ASSERT_TRUE(first.whole.measured);
  const double took = first.operators[0].measured->ns;
  EXPECT_NEAR(took, first.rows[0].cost->amount.weight / 4, 1e-3);
  EXPECT_LT(first.operators[0].measured->low, took);
  EXPECT_GT(first.operators[0].measured->high, took);
  EXPECT_FALSE(first.operators[0].memory_ns) << "nobody gave a rate";
  EXPECT_EQ(first.operators[0].role, BoundRole::kNotKnown);
  // With such a bandwidth the bytes take all of the time, and twice the computation.
  const double moved = 8e6 - static_cast<double>(kCache);  // the cache may have held as much
  const double rate = moved / took * 1e9;
  const auto by_memory = timed_bounds_of(
      profile, {.cache_bytes = kCache, .rates = {.bytes = rate, .cycles = 3e6 / took * 2e9}, .runs = 4});
  ASSERT_TRUE(by_memory) << by_memory.error().message;
  const OperatorBound& scan = by_memory->plans[0].operators[0];
  EXPECT_EQ(scan.id, 5u);
  EXPECT_NEAR(scan.least_bytes, moved, 1e-3);
  ASSERT_TRUE(scan.cycles);
  EXPECT_NEAR(*scan.cycles, 3e6, 1e-3);
  ASSERT_TRUE(scan.memory_ns && scan.compute_ns && scan.distance());
  EXPECT_NEAR(*scan.memory_ns / took, 1, 1e-6);
  EXPECT_NEAR(*scan.compute_ns / took, 0.5, 1e-6);
  EXPECT_NEAR(*scan.distance(), 1, 1e-6);
  EXPECT_FALSE(scan.needs_more);
  EXPECT_EQ(json_of(profile, *by_memory)["plans"][0]["operators"][0]["operator"], 5);
  EXPECT_TRUE(json_of(profile, *unhurried)["plans"][0]["whole"]["distance"].is_null());
}

TEST(BoundsReport, TimesThatAreNotKnownAreNotMeasured) {
  const Profile profile = profile_of(add_scan);
  const auto without = timed_bounds_of(profile, {.cache_bytes = kCache});
  ASSERT_TRUE(without) << without.error().message;
  EXPECT_THAT(without->plans[0].not_measured, HasSubstr("no execution"));
  EXPECT_FALSE(without->plans[0].whole.measured);
  const auto refused = timed_bounds_of(
      profile, {.cache_bytes = kCache, .rates = {.bytes = 1e9}, .runs = 4, .runs_unknown = "it runs still"});
  ASSERT_TRUE(refused) << refused.error().message;
  EXPECT_EQ(refused->plans[0].not_measured, "it runs still");
  for (const OperatorBound& bound : refused->plans[0].operators) {
    EXPECT_FALSE(bound.measured);
    EXPECT_FALSE(bound.distance());
    EXPECT_EQ(bound.role, BoundRole::kNotKnown);
  }
}

TEST(OperatorBounds, ARoleExplainsHalfOfTheTime) {
  const auto role = [](double bytes, double cycles) {
    OperatorBound bound{.measured = MeasuredTime{1000, 900, 1100}, .least_bytes = bytes, .cycles = cycles};
    judge({.bytes = 1e9, .cycles = 1e9}, bound);  // a byte or cycle takes a nanosecond
    return bound.role;
  };
  EXPECT_EQ(role(600, 100), BoundRole::kMemory);
  EXPECT_EQ(role(100, 600), BoundRole::kComputing);
  EXPECT_EQ(role(600, 700), BoundRole::kComputing) << "the larger one";
  EXPECT_EQ(role(500, 0), BoundRole::kNotKnown) << "it may have taken 1100";
  EXPECT_EQ(role(0, 0), BoundRole::kNotKnown);
  OperatorBound nothing{.measured = MeasuredTime{1000, 900, 1100}};
  judge({.bytes = -1, .cycles = 0}, nothing);
  EXPECT_FALSE(nothing.bound_ns());
  EXPECT_FALSE(nothing.distance());
}

TEST(BoundsReport, CachesAndPlansThatSayNothingAreErrors) {
  const auto silent = bounds_of(profile_of([](v1::Plan&) {}));
  ASSERT_FALSE(silent);
  EXPECT_EQ(silent.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(silent.error().message, HasSubstr("docs/bounds.md"));
  const Profile profile = profile_of(add_scan);
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4095}, UINT64_MAX}) {
    const auto report = bounds_of(profile, bytes);
    ASSERT_FALSE(report) << bytes;
    EXPECT_EQ(report.error().kind, ErrorKind::kInvalid) << bytes;
  }
  EXPECT_TRUE(bounds_of(profile, 4096));
}

TEST(BoundsReport, HostilePlansAreBounded) {
  // Components with one number, of no level below, and accesses without end.
  const auto report = bounds_of(profile_of([](v1::Plan& plan) {
    v1::Level& tasks = *plan.mutable_levels(1);
    for (int i = 0; i < 3000; ++i)
      add_access(plan, 4, "r" + std::to_string(i), v1::ACCESS_SEQUENTIAL).mutable_items()->set_fixed(100);
    v1::Component& again = *tasks.add_components();
    again.set_id(4);
    again.add_accesses()->set_pattern(v1::ACCESS_RANDOM);
  }));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->plans[0].rows.size(), 3001u) << "none is forgotten";
  EXPECT_GT(report->plans[0].unknown, 2900u);
}

TEST(BoundsReport, AsJson) {
  const Profile profile = profile_of(add_scan);
  const auto report = bounds_of(profile);
  ASSERT_TRUE(report) << report.error().message;
  const Json json = json_of(profile, *report);
  EXPECT_EQ(json["cache_bytes"], kCache);
  const Json& plan = json["plans"][0];
  EXPECT_EQ(plan["name"], "figure-9");
  EXPECT_EQ(plan["unknown"], 1);
  EXPECT_EQ(plan["silent_operators"].size(), 4u);
  EXPECT_EQ(plan["rows"][0]["region"], "lineitem.l_shipdate");
  EXPECT_EQ(plan["rows"][0]["operator"], 5);
  EXPECT_NEAR(plan["rows"][0]["expected"]["read_bytes"].get<double>(), 8e6, 1e-3);
  EXPECT_FALSE(plan["rows"][1].contains("expected"));
  EXPECT_THAT(plan["rows"][1]["unknown"].get<std::string>(), HasSubstr("component 5"));
}

}  // namespace
}  // namespace tailor::query
