#include "proto/traffic/traversal_savings.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tailor::traffic {
namespace {

TEST(TraversalSavings, NothingIsSavedWithoutSpaceOrLines) {
  EXPECT_EQ(TraversalSavings().first(10), 0);
  EXPECT_EQ(TraversalSavings(std::vector<LineGroup>()).later(10), 0);
  const TraversalSavings savings({{.lines = 100, .items = 8}});
  EXPECT_EQ(savings.first(0), 0);
  EXPECT_EQ(savings.later(0), 0);
}

TEST(TraversalSavings, WithAllSpaceEachLineIsFetchedOnce) {
  for (const double items : {1.0, 2.0, 3.0, 8.0, 16.0, 64.0, 500.0}) {
    const TraversalSavings savings({{.lines = 100, .items = items}, {.lines = 50, .items = items + 1}});
    const double visits = 100 * items + 50 * (items + 1);
    EXPECT_NEAR(savings.later(150), visits, 1e-6 * visits) << items << " items: all of them were there";
    // Bundles let the first use of a line be saved, too.
    const double most = items > 16 ? visits * (1 + 1e-6) : visits - 150 * 0.97;
    EXPECT_LE(savings.first(150), most) << items << " items";
    EXPECT_GE(savings.first(150), visits - 150 * 1.01) << items << " items";
    EXPECT_EQ(savings.first(1e9), savings.first(150)) << "more space saves no more";
  }
}

TEST(TraversalSavings, RiseAndBendWithTheSpace) {
  const TraversalSavings savings({{.lines = 400, .items = 4}});
  double saved = 0, step = 1e9;
  for (double lines = 4; lines <= 400; lines += 4) {
    const double now = savings.first(lines);
    EXPECT_GE(now, saved) << lines << " lines";
    EXPECT_LE(now - saved, step + 1e-6) << "the next lines save no more than those before: " << lines;
    EXPECT_LE(now, savings.later(lines) * (1 + 1e-9)) << lines << " lines";
    step = now - saved;
    saved = now;
  }
}

TEST(TraversalSavings, LinesOfOneItemSaveNothingUnlessTheyWereThere) {
  const TraversalSavings savings({{.lines = 100, .items = 1}});
  EXPECT_EQ(savings.first(50), 0);
  // A line of space saves all that comes as soon as 50 lines are left, and before that its part of them.
  EXPECT_NEAR(savings.later(50), 50 * (1 + std::log(2.0)), 0.5);
}

}  // namespace
}  // namespace tailor::traffic
