#include "compiler/tagging/row_table_builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tailor::tagging {
namespace {

using Ids = std::vector<ComponentId>;

RowTableBuilder Example() {
  RowTableBuilder builder;
  builder.Add(0, {}, RowFlag::kPrologue);
  builder.Add(4, Ids{9}, RowFlag::kExact);
  builder.Add(8, Ids{9}, RowFlag::kExact);
  builder.Add(12, Ids{9}, RowFlag::kInferred);
  builder.Add(15, Ids{2, 9}, RowFlag::kExact);
  builder.Add(20, {}, RowFlag::kExact);
  return builder;
}

TEST(RowTableBuilder, MergesRunsAndNamesFlags) {
  RowTableBuilder builder = Example();
  std::vector<Row> expected = {{0, Link(), RowFlag::kPrologue},
                               {4, Link::One(9), RowFlag::kExact},
                               {12, Link::One(9), RowFlag::kInferred},
                               {15, Link::Set(0), RowFlag::kShared},
                               {20, Link(), RowFlag::kUnmapped}};
  EXPECT_EQ(builder.rows(), expected);
}

TEST(RowTableBuilder, SecondRowAtAnOffsetWins) {
  RowTableBuilder builder;
  builder.Add(0, Ids{1}, RowFlag::kExact);
  builder.Add(4, Ids{2}, RowFlag::kExact);
  builder.Add(4, Ids{1}, RowFlag::kExact);
  EXPECT_EQ(builder.rows().size(), 1u);
}

TEST(RowTableBuilder, RoundTrip) {
  RowTableBuilder builder = Example();
  auto rows = DecodeRows(builder.Build());
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, builder.rows());
}

TEST(RowTableBuilder, CoverageAddsUp) {
  RowTableBuilder builder = Example();
  RowCoverage coverage = CoverageOf(builder.rows(), 22);
  EXPECT_THAT(coverage.bytes, ::testing::ElementsAre(8, 3, 5, 4, 2));
  EXPECT_EQ(CoverageOf({}, 7).bytes[4], 7u);
}

TEST(DecodeRows, RefusesWhatMakesNoSense) {
  const tailor::v1::RowTable good = Example().Build();
  auto bad = good;
  bad.mutable_flags()->pop_back();
  EXPECT_FALSE(DecodeRows(bad).ok());
  bad = good;
  bad.set_offset_delta(2, 0);
  EXPECT_FALSE(DecodeRows(bad).ok());
  bad = good;
  (*bad.mutable_flags())[1] = 77;
  EXPECT_FALSE(DecodeRows(bad).ok());
  bad = good;
  bad.clear_link_sets();
  EXPECT_FALSE(DecodeRows(bad).ok());
  bad = good;
  bad.set_offset_delta(2, 0xFFFFFFFF);
  bad.set_offset_delta(3, 0xFFFFFFFF);
  EXPECT_FALSE(DecodeRows(bad).ok());
}

}  // namespace
}  // namespace tailor::tagging
