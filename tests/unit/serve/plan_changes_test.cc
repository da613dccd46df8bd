// Which executions ran by another plan than the one of their query before, in a store of several recordings.
#include "daemon/serve/plan_changes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/library.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

constexpr std::uint64_t kPlanWall = 1'700'000'000'000'000'000, kPlanHour = 3'600'000'000'000;

class PlanChangesTest : public testing::Test {
 protected:
  PlanChangesTest() { std::filesystem::remove_all(directory_); }
  ~PlanChangesTest() override { std::filesystem::remove_all(directory_); }

  // A recording of the daemon, an hour behind the one before.
  void record(const std::function<void(profile::ProfileSink&)>& what) {
    auto writer = store::StoreWriter::open(directory_, {}, kPlanWall + kPlanHour * ++recordings_);
    ASSERT_TRUE(writer);
    test::give_context(**writer);
    what(**writer);
    ASSERT_TRUE((*writer)->finish());
  }

  // The sample's plan under another number; `joins`: it has another join.
  static void give_plan(profile::ProfileSink& sink, PlanId id, const std::string& join = "hash_join") {
    v1::Plan plan = test::sample_plan();
    plan.set_id(id);
    for (v1::Component& component : *plan.mutable_levels(0)->mutable_components()) {
      if (component.id() == 2) component.set_kind(join);
      v1::Attribute& estimate = *component.add_attributes();
      estimate.set_key("estimated_rows");
      estimate.set_number(static_cast<double>(id));
    }
    sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
  }

  void give_run(profile::ProfileSink& sink, std::uint8_t id, PlanId plan,
                const std::string& query = "changing") {
    profile::ExecutionRecord record;
    record.process = test::kSampleProcess;
    record.handle = id;
    record.id.bytes.fill(id);
    record.plan = plan;
    record.begin = test::kSampleStart + id * 1000;
    record.end = record.begin + 10;
    record.wall_begin_ns = kPlanWall + kPlanHour * recordings_ + id;
    record.labels = {{"fingerprint", query}};
    sink.on_execution(record);
  }

  PlanChangeList changes(ExecutionFilter filter = {}) {
    if (filter.fingerprint.empty()) filter.fingerprint = "changing";
    auto list = plan_changes(*open_store_library(directory_, {}), filter, stop_);
    EXPECT_TRUE(list) << (list ? "" : list.error().message);
    return list ? std::move(*list) : PlanChangeList();
  }

  const std::string directory_ = testing::TempDir() + "/plan_changes_test." + std::to_string(::getpid());
  std::uint64_t recordings_ = 0;
  Stop stop_;
};

TEST_F(PlanChangesTest, LieBetweenTheLastRunOfTheOldPlanAndTheFirstOfTheNew) {
  record([&](profile::ProfileSink& sink) {
    give_plan(sink, 20);
    give_plan(sink, 21, "merge_join");
    for (std::uint8_t run = 10; run < 13; ++run) give_run(sink, run, 20);
    for (std::uint8_t run = 13; run < 16; ++run) give_run(sink, run, 21);
    give_run(sink, 16, 20);
    give_run(sink, 17, 20, "other");
    give_run(sink, 18, 21, "another");
  });
  const PlanChangeList list = changes();
  ASSERT_EQ(list.changes.size(), 2u);
  EXPECT_EQ(list.executions, 7u);
  EXPECT_EQ(list.changes[0].before.record.handle, 15u);
  EXPECT_EQ(list.changes[0].after.record.handle, 16u);
  EXPECT_EQ(list.changes[1].before.record.handle, 12u);
  EXPECT_EQ(list.changes[1].after.record.handle, 13u);
  EXPECT_EQ(list.changes[1].fingerprint, "changing");
  ExecutionFilter one;
  one.limit = 1;
  const PlanChangeList newest = changes(one);
  ASSERT_EQ(newest.changes.size(), 1u);
  EXPECT_EQ(newest.changes[0].after.record.handle, 16u);
  EXPECT_TRUE(newest.more);
}

TEST_F(PlanChangesTest, ARestartOrAnotherNumberOfThePlanIsNone) {
  record([&](profile::ProfileSink& sink) {
    give_plan(sink, 20);
    give_run(sink, 10, 20);
  });
  record([&](profile::ProfileSink& sink) {
    give_plan(sink, 30);
    give_plan(sink, 20, "merge_join");
    give_run(sink, 10, 30);
    give_run(sink, 11, 20);
  });
  record([&](profile::ProfileSink& sink) {
    give_plan(sink, 30, "merge_join");
    give_run(sink, 12, 30);
  });
  const PlanChangeList list = changes();
  ASSERT_EQ(list.changes.size(), 1u) << "the numbers of plans say nothing, the operators do";
  EXPECT_EQ(list.changes[0].before.wall_begin_ns / kPlanHour,
            list.changes[0].after.wall_begin_ns / kPlanHour);
  EXPECT_EQ(list.changes[0].before.record.handle, 10u);
  EXPECT_EQ(list.changes[0].after.record.handle, 11u);
  EXPECT_EQ(list.executions, 4u);
}

TEST_F(PlanChangesTest, OfAnUnknownPlanNothingIsSaid) {
  record([&](profile::ProfileSink& sink) {
    give_plan(sink, 20);
    give_run(sink, 10, 20);
    give_run(sink, 11, 99);
    give_run(sink, 12, 20);
  });
  const PlanChangeList list = changes();
  EXPECT_TRUE(list.changes.empty());
  EXPECT_EQ(list.without_plan, 1u);
  EXPECT_EQ(list.executions, 2u);
}

}  // namespace
}  // namespace tailor::serve
