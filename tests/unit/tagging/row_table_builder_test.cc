#include "compiler/tagging/row_table_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tagging {
namespace {

using Ids = std::vector<ComponentId>;

RowTableBuilder example() {
  RowTableBuilder builder;
  builder.add(0, {}, RowFlag::kPrologue);
  builder.add(4, Ids{9}, RowFlag::kExact);
  builder.add(8, Ids{9}, RowFlag::kExact);
  builder.add(12, Ids{9}, RowFlag::kInferred);
  builder.add(15, Ids{2, 9}, RowFlag::kExact);
  builder.add(20, {}, RowFlag::kExact);
  return builder;
}

TEST(RowTableBuilder, MergesRunsAndNamesFlags) {
  RowTableBuilder builder = example();
  std::vector<Row> expected = {{0, Link(), RowFlag::kPrologue},
                               {4, Link::one(9), RowFlag::kExact},
                               {12, Link::one(9), RowFlag::kInferred},
                               {15, Link::set(0), RowFlag::kShared},
                               {20, Link(), RowFlag::kUnmapped}};
  EXPECT_EQ(builder.rows(), expected);
}

TEST(RowTableBuilder, SecondRowAtAnOffsetWins) {
  RowTableBuilder builder;
  builder.add(0, Ids{1}, RowFlag::kExact);
  builder.add(4, Ids{2}, RowFlag::kExact);
  builder.add(4, Ids{1}, RowFlag::kExact);
  EXPECT_EQ(builder.rows().size(), 1u);
}

TEST(RowTableBuilder, RoundTrip) {
  RowTableBuilder builder = example();
  auto rows = decode_rows(builder.build());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, builder.rows());
}

TEST(RowTableBuilder, CoverageAddsUp) {
  RowTableBuilder builder = example();
  RowCoverage coverage = coverage_of(builder.rows(), 22);
  EXPECT_THAT(coverage.bytes, ::testing::ElementsAre(8, 3, 5, 4, 2));
  EXPECT_EQ(coverage_of({}, 7).bytes[4], 7u);
}

TEST(decode_rows, RefusesWhatMakesNoSense) {
  const tailor::v1::RowTable good = example().build();
  auto bad = good;
  bad.mutable_flags()->pop_back();
  EXPECT_FALSE(decode_rows(bad).ok());
  bad = good;
  bad.set_offset_delta(2, 0);
  EXPECT_FALSE(decode_rows(bad).ok());
  bad = good;
  (*bad.mutable_flags())[1] = 77;
  EXPECT_FALSE(decode_rows(bad).ok());
  bad = good;
  bad.clear_link_sets();
  EXPECT_FALSE(decode_rows(bad).ok());
  bad = good;
  bad.set_offset_delta(2, 0xFFFFFFFF);
  bad.set_offset_delta(3, 0xFFFFFFFF);
  EXPECT_FALSE(decode_rows(bad).ok());
}

}  // namespace
}  // namespace tailor::tagging
