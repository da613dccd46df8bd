#include "compiler/tagging/dictionary_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tagging {
namespace {

using ::testing::ElementsAre;

// Five levels work as two do: levels are data.
TEST(DictionaryBuilder, OwnersThroughFiveLevels) {
  DictionaryBuilder plan("q", {"dataflow", "operator", "task", "ir", "vector"});
  for (LevelIndex level = 0; level < 5; ++level) plan.add_unnamed(level, 4);
  const ComponentId pair[] = {1, 2};
  const ComponentId one[] = {1};
  plan.set_owners(4, 3, pair);
  plan.set_owners(3, 1, one);
  plan.set_owners(3, 2, pair);
  plan.set_owners(2, 1, one);
  plan.set_owners(2, 2, one);
  plan.set_owners(1, 1, pair);
  EXPECT_THAT(plan.owners_at(4, 3, 2), ElementsAre(1, 2));
  // Owners that meet again higher up are one.
  EXPECT_THAT(plan.owners_at(4, 3, 1), ElementsAre(1));
  EXPECT_THAT(plan.owners_at(4, 3, 0), ElementsAre(1, 2));
}

TEST(DictionaryBuilder, WritesWhatAComponentDoesWithMemory) {
  DictionaryBuilder plan("tpch-6", {"operator", "task", "ir"});
  const ComponentId scan = plan.add(0, {.name = "Scan"});
  tailor::v1::Access column;
  column.set_pattern(tailor::v1::ACCESS_SEQUENTIAL);
  column.set_region("lineitem.l_discount");
  column.set_item_bytes(8);
  column.set_reads(true);
  tailor::v1::Computation computation;
  computation.set_cycles_per_row(2.5);
  computation.mutable_rows()->set_rows_of(scan);
  plan.add(1, {.name = "Read", .accesses = {column, column}, .computation = computation}, {&scan, 1});

  tailor::v1::Plan out;
  ASSERT_TRUE(out.ParseFromString(plan.serialise({.id = 5, .slot = 6, .generation = 7})));
  EXPECT_EQ(out.levels(0).components(0).accesses_size(), 0);
  EXPECT_FALSE(out.levels(0).components(0).has_computation());
  const tailor::v1::Component& read = out.levels(1).components(0);
  ASSERT_EQ(read.accesses_size(), 2);
  EXPECT_EQ(read.accesses(1).SerializeAsString(), column.SerializeAsString());
  EXPECT_EQ(read.computation().rows().rows_of(), scan);
}

TEST(DictionaryBuilder, WritesWhatWasSaid) {
  DictionaryBuilder plan("tpch-6", {"operator", "task", "ir"});
  ComponentId scan = plan.add(0, {.name = "Scan", .kind = "scan", .attributes = {{"table", "lineitem"}}});
  ComponentId agg = plan.add(
      0,
      {.name = "Aggregate", .kind = "aggregate", .inputs = {scan}, .attributes = {{"estimated_rows", 1.0}}});
  ComponentId read = plan.add(1, {.name = "Read"}, {&scan, 1});
  ComponentId sum = plan.add(1, {.name = "Sum"}, {&agg, 1});
  ComponentId first = plan.add_unnamed(2, 3);
  const ComponentId both[] = {read, sum};
  plan.set_owners(2, first, {&read, 1});
  plan.set_owners(2, first + 2, both);
  plan.add_pipeline("scan lineitem", 1, {read}, {});
  plan.append_task(1, sum);
  plan.attach("sql", "select 1");
  plan.append_attachment("ir", "a\n");
  plan.append_attachment("ir", "b\n");

  tailor::v1::Plan out;
  ASSERT_TRUE(out.ParseFromString(plan.serialise({.id = 5, .slot = 6, .generation = 7})));
  EXPECT_EQ(out.id(), 5u);
  EXPECT_EQ(out.slot(), 6u);
  EXPECT_EQ(out.generation(), 7u);
  ASSERT_EQ(out.levels_size(), 3);
  EXPECT_THAT(out.levels(0).components(1).inputs(), ElementsAre(scan));
  EXPECT_EQ(out.levels(0).components(0).attributes(0).text(), "lineitem");
  EXPECT_EQ(out.levels(0).components(1).attributes(0).number(), 1.0);
  EXPECT_EQ(out.levels(0).links_size(), 0);
  EXPECT_EQ(out.levels(2).component_count(), 3u);
  EXPECT_THAT(out.levels(2).links(), ElementsAre(read << 1, 0, 1));
  EXPECT_THAT(out.levels(2).link_sets(0).ids(), ElementsAre(read, sum));
  EXPECT_THAT(out.pipelines(0).tasks(), ElementsAre(read, sum));
  ASSERT_EQ(out.attachments_size(), 2);
  EXPECT_EQ(out.attachments(0).content(), "a\nb\n");
  EXPECT_EQ(out.attachments(0).sha256().size(), 32u);
  EXPECT_EQ(out.tag_upper_level(), 0u);
  EXPECT_EQ(out.tag_lower_level(), 1u);
  EXPECT_TRUE(out.has_tag_lower_level());
}

// Of every length of the length that stands before a content.
TEST(DictionaryBuilder, AKeptPlanGetsAnotherKey) {
  DictionaryBuilder plan("query", {"operator", "ir"});
  plan.add(0, {.name = "Scan"});
  plan.attach("ir", "a listing");
  const PlanKey key{.id = 15, .slot = 16, .generation = 17};
  auto rekeyed = with_key(plan.serialise({.id = 5, .slot = 6, .generation = 7}), key);
  ASSERT_TRUE(rekeyed.ok()) << rekeyed.error().message;
  tailor::v1::Plan out;
  ASSERT_TRUE(out.ParseFromString(*rekeyed));
  EXPECT_EQ(out.SerializeAsString(), plan.build(key).SerializeAsString());
  for (const char* damaged : {"", "\xFF\xFF"}) EXPECT_FALSE(with_key(damaged, key).ok());
}

TEST(DictionaryBuilder, SerialisesWhatItBuilds) {
  for (std::size_t bytes : {0, 1, 100, 127, 128, 300, 16383, 16384, 70000, 3000000}) {
    DictionaryBuilder plan("q", {"node", "ir"});
    plan.add_unnamed(1, 200);
    plan.attach("ir", std::string(bytes, 'x'));
    plan.attach("sql", "select 1");
    tailor::v1::Plan out;
    ASSERT_TRUE(out.ParseFromString(plan.serialise({.id = 1, .slot = 2, .generation = 3}))) << bytes;
    EXPECT_EQ(out.SerializeAsString(), plan.build({.id = 1, .slot = 2, .generation = 3}).SerializeAsString())
        << bytes;
  }
}

TEST(DictionaryBuilder, TwoLevelsTagTheTopAlone) {
  DictionaryBuilder plan("q", {"node", "ir"});
  auto out = plan.build({});
  EXPECT_EQ(out.tag_upper_level(), 0u);
  EXPECT_FALSE(out.has_tag_lower_level());
}

TEST(DictionaryBuilderDeathTest, OwnersMustExist) {
  DictionaryBuilder plan("q", {"operator", "task"});
  ComponentId task = plan.add_unnamed(1, 1);
  const ComponentId missing[] = {4};
  EXPECT_DEATH(plan.set_owners(1, task, missing), "");
}

}  // namespace
}  // namespace tailor::tagging
