#include "daemon/process/component_ranges.h"

#include <gtest/gtest.h>

namespace tailor::process {
namespace {

TEST(ComponentRanges, FindWhatClaimsAnAddress) {
  ComponentRanges ranges{Limits{}};
  ASSERT_TRUE(ranges.add(1, 100, 200).ok());
  ASSERT_TRUE(ranges.add(2, 200, 300).ok());
  EXPECT_EQ(ranges.find(99), 0u);
  EXPECT_EQ(ranges.find(100), 1u);
  EXPECT_EQ(ranges.find(200), 2u);
  EXPECT_EQ(ranges.find(300), 0u);
  EXPECT_FALSE(ranges.add(1, 5, 5).ok());
}

// HotSpot frees stubs, and others of another size come to lie there.
TEST(ComponentRanges, ThoseOfOneComponentThatOverlapBecomeOne) {
  ComponentRanges ranges{Limits{}};
  ASSERT_TRUE(ranges.add(1, 100, 200).ok());
  ASSERT_TRUE(ranges.add(1, 100, 200).ok());
  ASSERT_TRUE(ranges.add(1, 300, 400).ok());
  ASSERT_TRUE(ranges.add(1, 500, 600).ok());
  ASSERT_TRUE(ranges.add(1, 150, 320).ok());
  for (std::uint64_t at : {100u, 199u, 200u, 299u, 320u, 399u}) EXPECT_EQ(ranges.find(at), 1u) << at;
  EXPECT_EQ(ranges.find(400), 0u);
  EXPECT_EQ(ranges.find(500), 1u);
}

TEST(ComponentRanges, ThoseOfTwoNeverOverlap) {
  ComponentRanges ranges{Limits{}};
  ASSERT_TRUE(ranges.add(1, 100, 200).ok());
  ASSERT_TRUE(ranges.add(2, 300, 400).ok());
  EXPECT_FALSE(ranges.add(2, 199, 250).ok());
  EXPECT_FALSE(ranges.add(1, 150, 301).ok());
  EXPECT_FALSE(ranges.add(3, 0, 1000).ok());
  EXPECT_EQ(ranges.find(199), 1u);
  EXPECT_EQ(ranges.find(250), 0u);
  EXPECT_EQ(ranges.find(300), 2u);
}

TEST(ComponentRanges, TheirNumberIsBounded) {
  Limits limits;
  limits.component_ranges = 2;
  ComponentRanges ranges{limits};
  ASSERT_TRUE(ranges.add(1, 100, 200).ok());
  ASSERT_TRUE(ranges.add(1, 300, 400).ok());
  EXPECT_FALSE(ranges.add(1, 500, 600).ok());
  EXPECT_TRUE(ranges.add(1, 150, 350).ok());
  EXPECT_TRUE(ranges.add(1, 500, 600).ok());
}

}  // namespace
}  // namespace tailor::process
