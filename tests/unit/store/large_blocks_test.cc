// Large plans and code objects are written by another thread: nothing of them is lost, and what belongs
// behind them stays there.
#include "daemon/store/large_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

using testing::HasSubstr;

std::shared_ptr<const v1::Plan> large_plan(PlanId id) {
  v1::Plan plan = test::sample_plan();
  plan.set_id(id);
  plan.set_name("large plan " + std::to_string(id));
  plan.add_attachments()->set_content(std::string(1 << 20, 'x'));
  return std::make_shared<const v1::Plan>(plan);
}

std::shared_ptr<const v1::CodeObject> large_code(CodeId id) {
  v1::CodeObject code;
  code.set_id(id);
  code.set_base(0x10000);
  code.set_code(std::string(1 << 20, '\x90'));
  return std::make_shared<const v1::CodeObject>(code);
}

StoreOptions with_threads() {
  StoreOptions options;
  options.own_thread = true;
  return options;
}

std::size_t count(const std::vector<std::string>& records, const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(records, [&](const std::string& each) { return each.find(text) != each.npos; }));
}

TEST_F(StoreTest, LargeDictionariesComeBackAsOthersDo) {
  for (const bool own_thread : {false, true}) {
    SetUp();
    StoreOptions options;
    options.own_thread = own_thread;
    auto writer = open(options);
    test::give_context(*writer);
    for (PlanId id = 100; id < 110; ++id) writer->on_shared_plan(test::kSampleProcess, 5, large_plan(id));
    writer->on_shared_code(test::kSampleProcess, 6, large_code(200));
    ASSERT_TRUE(writer->finish());
    EXPECT_EQ(writer->stats().lost_blocks, 0u);
    const Read r = read(writer->recording());
    EXPECT_TRUE(r.report.clean()) << r.report.first_problem;
    EXPECT_EQ(count(r.sink.records, "large plan"), 10u);
    EXPECT_EQ(count(r.sink.records, "code " + std::to_string(test::kSampleProcess.pid) + " 6 id: 200"), 1u);
  }
}

// A flush brings what was given before it.
TEST_F(StoreTest, AFlushWaitsForLargeDictionaries) {
  auto writer = open(with_threads());
  test::give_context(*writer);
  writer->on_shared_plan(test::kSampleProcess, 5, large_plan(100));
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(count(read(writer->recording()).sink.records, "large plan"), 1u);
  ASSERT_TRUE(writer->finish());
}

TEST_F(StoreTest, TheEndOfLargeCodeComesBehindIt) {
  auto writer = open(with_threads());
  test::give_context(*writer);
  writer->on_shared_code(test::kSampleProcess, 6, large_code(200));
  writer->on_code_unload(test::kSampleProcess, 7, 200);
  ASSERT_TRUE(writer->finish());
  const auto records = read(writer->recording()).sink.records;
  const auto of = [&](const std::string& text) {
    return std::ranges::find_if(records,
                                [&](const std::string& each) { return each.find(text) != each.npos; });
  };
  ASSERT_NE(of("id: 200"), records.end());
  const auto unload =
      std::ranges::find_if(records, [](const std::string& each) { return each.find("unload") != each.npos; });
  ASSERT_NE(unload, records.end());
  EXPECT_LT(of("id: 200"), unload);
}

// One that no reader takes apart within its memory is not written: it would seem to be damage.
TEST_F(StoreTest, ALargePlanThatNobodyCouldReadIsLostAndSaid) {
  auto writer = open(with_threads());
  test::give_context(*writer);
  auto plan = std::make_shared<v1::Plan>();
  plan->set_id(100);
  for (int i = 0; i < 800'000; ++i) plan->add_levels();
  writer->on_shared_plan(test::kSampleProcess, 5, std::move(plan));
  const Status finished = writer->finish();
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, HasSubstr("more memory than its size allows"));
  EXPECT_EQ(writer->stats().lost_blocks, 1u);
  const Read r = read(writer->recording());
  EXPECT_TRUE(r.report.clean()) << r.report.first_problem;
}

// What is kept for it is let go as soon as its block is made: its process waits for that.
TEST(LargeBlocks, LetGoOfWhatTheyWereGiven) {
  LargeBlocks blocks;
  auto plan = large_plan(1);
  const std::weak_ptr<const v1::Plan> kept = plan;
  blocks.add({1, 2}, 5, std::move(plan));
  EXPECT_TRUE(blocks.has({{1, 2}, EntryKind::kPlan, 1}));
  blocks.wait();
  while (!kept.expired()) {
  }
  const auto made = blocks.take();
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].name, "large plan 1");
  EXPECT_FALSE(blocks.has(made[0].key));
  EXPECT_LT(made[0].block.bytes.size(), std::size_t{1} << 20);
  EXPECT_TRUE(made[0].readable);
  EXPECT_TRUE(blocks.take().empty());
}

}  // namespace
}  // namespace tailor::store
