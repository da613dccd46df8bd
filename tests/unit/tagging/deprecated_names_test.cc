// What an engine wrote against the first names does the same as what it writes now.
#include <gtest/gtest.h>

#include <vector>

#include "compiler/tagging/dictionary_builder.h"
#include "compiler/tagging/lineage_log.h"
#include "compiler/tagging/link_pool.h"
#include "compiler/tagging/lowering_step.h"
#include "compiler/tagging/row_table_builder.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace tailor::tagging {
namespace {

constexpr PlanKey kKey{7, 1, 1};

std::string by_first_names() {
  DictionaryBuilder plan("query", {"operator", "task", "ir"});
  const ComponentId scan = plan.Add(0, {.name = "Scan", .kind = "scan"});
  LoweringStep step(plan, 0, 1);
  ComponentId task = kNoComponent;
  {
    const auto scope = step.tracker().Enter(scan);
    task = step.Emit({.name = "scan"});
  }
  const std::uint32_t pipeline = plan.AddPipeline("p", 1, {});
  plan.AppendTask(pipeline, task);
  const ComponentId first = plan.AddUnnamed(2, 2);
  plan.SetOwners(2, first, std::vector{task});
  plan.Describe(0, scan).attributes.push_back({"table", "orders"});
  plan.Attach("sql", "select 1");
  plan.AppendAttachment("ir", "add");
  plan.SetTagLevels(0, 1);
  EXPECT_EQ(plan.Owners(2, first), std::vector{task});
  EXPECT_EQ(plan.OwnersAt(2, first, 0), std::vector{scan});
  EXPECT_EQ(plan.Build(kKey).SerializeAsString(), plan.build(kKey).SerializeAsString());
  return plan.Serialise(kKey);
}

std::string by_names_of_now() {
  DictionaryBuilder plan("query", {"operator", "task", "ir"});
  const ComponentId scan = plan.add(0, {.name = "Scan", .kind = "scan"});
  LoweringStep step(plan, 0, 1);
  ComponentId task = kNoComponent;
  {
    const auto scope = step.tracker().enter(scan);
    task = step.emit({.name = "scan"});
  }
  const std::uint32_t pipeline = plan.add_pipeline("p", 1, {});
  plan.append_task(pipeline, task);
  const ComponentId first = plan.add_unnamed(2, 2);
  plan.set_owners(2, first, std::vector{task});
  plan.describe(0, scan).attributes.push_back({"table", "orders"});
  plan.attach("sql", "select 1");
  plan.append_attachment("ir", "add");
  plan.set_tag_levels(0, 1);
  return plan.serialise(kKey);
}

TEST(DeprecatedNames, MakeTheSamePlan) {
  EXPECT_EQ(by_first_names(), by_names_of_now());
}

TEST(DeprecatedNames, MakeTheSameRows) {
  RowTableBuilder first, now;
  const std::vector<ComponentId> owner = {3};
  first.Add(0, owner, RowFlag::kExact);
  now.add(0, owner, RowFlag::kExact);
  EXPECT_EQ(first.Build().SerializeAsString(), now.build().SerializeAsString());
  EXPECT_EQ(CoverageOf(first.rows(), 8).bytes[0], coverage_of(now.rows(), 8).bytes[0]);
  EXPECT_EQ(*DecodeRows(first.Build()), *decode_rows(now.build()));
}

TEST(DeprecatedNames, MakeTheSameLinks) {
  static_assert(Link::One(3) == Link::one(3) && Link::Set(2) == Link::set(2));
  static_assert(Link::FromWire(7) == Link::from_wire(7) && Link::One(3) != Link::One(4));
  static_assert(sizeof(Link) == sizeof(std::uint32_t));
  LinkPool first, now;
  const std::vector<ComponentId> owners = {3, 5};
  EXPECT_EQ(first.Intern(owners), now.intern(owners));
  EXPECT_EQ(first.Union(Link::one(3), Link::one(7)), now.united(Link::one(3), Link::one(7)));
  std::vector<ComponentId> all;
  first.Expand(Link::set(0), all);
  EXPECT_EQ(all, owners);
}

TEST(DeprecatedNames, KeepTheSameLineage) {
  LinkPool pool;
  const std::vector<ComponentId> one = {3}, two = {5};
  const std::vector<Link> run = {pool.intern(one), pool.intern(two)};
  LineageLog first, now;
  first.Record(1, one);
  first.Extend(1, two);
  first.RecordRun(2, run, pool);
  now.record(1, one);
  now.extend(1, two);
  now.record_run(2, run, pool);
  EXPECT_EQ(first.links(), now.links());
  EXPECT_EQ(first.LinkOf(3), Link::one(5));
  EXPECT_EQ(first.Owners(1), (std::vector<ComponentId>{3, 5}));
}

}  // namespace
}  // namespace tailor::tagging
