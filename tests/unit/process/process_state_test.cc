#include "daemon/process/process_state.h"

#include <gtest/gtest.h>

#include "tests/support/engine_messages.h"

namespace tailor::process {
namespace {

using test::small_code;
using test::small_plan;

class ProcessStateTest : public testing::Test {
 protected:
  ProcessStateTest() { state.start_agent(1, 0xabc, 10); }
  ProcessState state{{42, 1}, {}};
};

TEST_F(ProcessStateTest, KnowsTheKeyOfTheTime) {
  state.start_agent(2, 0xdef, 100);
  EXPECT_FALSE(state.registered_at(9));
  EXPECT_EQ(state.tag_key_at(99), 0xabcu);
  EXPECT_EQ(state.tag_key_at(100), 0xdefu);
  state.stop_agent(200);
  EXPECT_TRUE(state.registered_at(199));
  EXPECT_FALSE(state.registered_at(200));
}

TEST_F(ProcessStateTest, CodeNeedsItsPlan) {
  EXPECT_FALSE(state.load_code(small_code(1, 1, 0x1000), 20).ok());
  ASSERT_TRUE(state.load_plan(small_plan(1), 20).ok());
  EXPECT_TRUE(state.load_code(small_code(1, 1, 0x1000), 21).ok());
  EXPECT_FALSE(state.load_code(small_code(1, 1, 0x2000), 22).ok());
}

TEST_F(ProcessStateTest, APlanMayGrowButNotShrink) {
  ASSERT_TRUE(state.load_plan(small_plan(1), 20).ok());
  v1::Plan grown = small_plan(1);
  grown.mutable_levels(2)->set_component_count(7);
  grown.mutable_levels(2)->add_links(2);
  EXPECT_TRUE(state.load_plan(grown, 30)->fresh);
  EXPECT_FALSE(state.load_plan(grown, 31)->fresh);
  EXPECT_FALSE(state.load_plan(small_plan(1), 32).ok());
  EXPECT_FALSE(state.load_plan(small_plan(1, 2), 32).ok());
}

TEST_F(ProcessStateTest, APlanSaidAgainWithOtherAttributesIsNews) {
  v1::Plan plan = small_plan(1);
  v1::Attribute* rows = plan.mutable_levels(0)->mutable_components(0)->add_attributes();
  rows->set_key("actual_rows");
  rows->set_number(5);
  ASSERT_TRUE(state.load_plan(small_plan(1), 20).ok());
  EXPECT_TRUE(state.load_plan(plan, 30)->fresh);
  EXPECT_FALSE(state.load_plan(plan, 31)->fresh);
  plan.mutable_levels(0)->mutable_components(0)->mutable_attributes(0)->set_number(6);
  EXPECT_TRUE(state.load_plan(plan, 32)->fresh);
}

TEST_F(ProcessStateTest, APlanSaidAgainWithOtherAccessesIsNews) {
  v1::Plan plan = small_plan(1);
  ASSERT_TRUE(state.load_plan(plan, 20).ok());
  v1::Access* access = plan.mutable_levels(0)->mutable_components(0)->add_accesses();
  access->set_region("lineitem.l_tax");
  EXPECT_TRUE(state.load_plan(plan, 30)->fresh);
  EXPECT_FALSE(state.load_plan(plan, 31)->fresh);
  access->set_item_bytes(8);
  EXPECT_TRUE(state.load_plan(plan, 32)->fresh);
}

TEST_F(ProcessStateTest, ASlotBelongsToAPlanForATime) {
  ASSERT_TRUE(state.load_plan(small_plan(1, 5, 1), 20).ok());
  ASSERT_TRUE(state.unload_plan(1, 30).ok());
  ASSERT_TRUE(state.load_plan(small_plan(2, 5, 2), 40).ok());
  ASSERT_TRUE(state.load_plan(small_plan(3, 5, 1), 50).ok());
  EXPECT_EQ(state.plan_of_tag(5, 1, 19), nullptr);
  EXPECT_EQ(state.plan_of_tag(5, 1, 29)->id, 1u);
  EXPECT_EQ(state.plan_of_tag(5, 1, 30), nullptr);
  EXPECT_EQ(state.plan_of_tag(5, 1, 50)->id, 3u);
  EXPECT_EQ(state.plan_of_tag(5, 2, 50)->id, 2u);
  state.trim(45);
  EXPECT_EQ(state.plan_of_tag(5, 1, 29), nullptr);
  EXPECT_EQ(state.plan_of_tag(5, 1, 60)->id, 3u);
}

TEST_F(ProcessStateTest, AReconnectKeepsWhatIsSaidAgainAndEndsTheRest) {
  ASSERT_TRUE(state.load_plan(small_plan(1, 1), 20).ok());
  ASSERT_TRUE(state.load_plan(small_plan(2, 2), 20).ok());
  ASSERT_TRUE(state.load_code(small_code(1, 1, 0x1000), 21).ok());
  ASSERT_TRUE(state.load_code(small_code(2, 2, 0x2000), 21).ok());
  state.start_resync(2);
  EXPECT_FALSE(state.load_plan(small_plan(1, 1), 20)->fresh);
  EXPECT_FALSE(state.load_code(small_code(1, 1, 0x1000), 21)->fresh);
  EXPECT_EQ(state.end_resync(100), std::vector<CodeId>{2});
  EXPECT_EQ(state.code_at(0x1000, 150)->id, 1u);
  EXPECT_EQ(state.code_at(0x2000, 99)->id, 2u);
  EXPECT_EQ(state.code_at(0x2000, 100), nullptr);
  EXPECT_EQ(state.plan_of_tag(2, 1, 100), nullptr);
  EXPECT_NE(state.plan_of_tag(1, 1, 100), nullptr);
}

TEST_F(ProcessStateTest, UnloadingTheUnknownIsRefused) {
  EXPECT_FALSE(state.unload_plan(1, 20).ok());
  EXPECT_FALSE(state.unload_code(1, 20).ok());
}

TEST_F(ProcessStateTest, ComponentsAreDeclaredBeforeTheirCode) {
  v1::ComponentCode code;
  code.set_id(1);
  code.set_begin(0x5000);
  code.set_end(0x6000);
  EXPECT_FALSE(state.add_component_code(code).ok());
  v1::ComponentDeclare parse;
  parse.set_id(1);
  parse.set_name("parse");
  EXPECT_TRUE(state.declare_component(parse)->fresh);
  EXPECT_FALSE(state.declare_component(parse)->fresh);
  ASSERT_TRUE(state.add_component_code(code).ok());
  ASSERT_TRUE(state.add_component_code(code).ok());
  EXPECT_EQ(state.component_of_code(0x5fff), 1u);
  EXPECT_EQ(state.component_of_code(0x6000), 0u);
  code.set_begin(0x5800);
  EXPECT_TRUE(state.add_component_code(code).ok());
  code.set_end(0x5800);
  EXPECT_FALSE(state.add_component_code(code).ok());
  parse.set_name("other");
  EXPECT_FALSE(state.declare_component(parse).ok());
  parse.set_id(0);
  EXPECT_FALSE(state.declare_component(parse).ok());
}

TEST_F(ProcessStateTest, AReusedThreadIdStartsAnew) {
  v1::ThreadAdd add;
  add.set_tid(77);
  ASSERT_TRUE(state.add_thread(add, 20).ok());
  tailor_log_record begin{};
  begin.kind = TAILOR_LOG_EXECUTION_BEGIN;
  begin.a = 9;
  ASSERT_TRUE(state.add_activity(77, begin, 30).ok());
  EXPECT_EQ(state.context_at(77, 40).execution, 9u);
  state.remove_thread({}, 50);
  EXPECT_EQ(state.context_at(77, 49).execution, 9u);
  EXPECT_EQ(state.context_at(77, 50).execution, 0u);
  state.trim(60);
  EXPECT_EQ(state.threads(), 0u);
  EXPECT_FALSE(state.add_activity(0, begin, 30).ok());
}

TEST_F(ProcessStateTest, YearsOfQueriesTakeNoMoreMemoryThanOne) {
  std::size_t most = 0;
  for (std::uint64_t query = 1; query <= 20000; ++query) {
    const auto time = static_cast<TimeNs>(query * 1000);
    ASSERT_TRUE(state.load_plan(small_plan(query, query % 8, query / 8 % 16), time).ok());
    ASSERT_TRUE(state.load_code(small_code(query, query, 0x1000 + query % 3 * 64), time).ok());
    tailor_log_record record{};
    record.kind = TAILOR_LOG_EXECUTION_BEGIN;
    record.a = query;
    ASSERT_TRUE(state.add_activity(7, record, time + 100).ok());
    record.kind = TAILOR_LOG_EXECUTION_END;
    ASSERT_TRUE(state.add_activity(7, record, time + 200).ok());
    ASSERT_TRUE(state.unload_code(query, time + 300).ok());
    ASSERT_TRUE(state.unload_plan(query, time + 300).ok());
    state.trim(time - 5000);
    most = std::max(most, state.bytes());
  }
  EXPECT_LE(most, 10000u);
  EXPECT_LE(state.plans(), 8u);
  EXPECT_LE(state.code_objects(), 8u);
}

}  // namespace
}  // namespace tailor::process
