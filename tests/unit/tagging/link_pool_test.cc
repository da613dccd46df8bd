#include "compiler/tagging/link_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/tagging/lineage_log.h"

namespace tailor::tagging {
namespace {

using ::testing::ElementsAre;
using Ids = std::vector<ComponentId>;

TEST(LinkPool, SetsAreNumberedOnce) {
  LinkPool pool;
  EXPECT_TRUE(pool.intern({}).none());
  EXPECT_TRUE(pool.intern(Ids{0}).none());
  EXPECT_EQ(pool.intern(Ids{7, 7}), Link::one(7));
  Link pair = pool.intern(Ids{3, 1});
  EXPECT_TRUE(pair.is_set());
  EXPECT_EQ(pool.intern(Ids{1, 3, 1}), pair);
  EXPECT_NE(pool.intern(Ids{1, 4}), pair);
  EXPECT_EQ(pool.sets().size(), 2u);
}

TEST(LinkPool, UnionOfEverything) {
  LinkPool pool;
  Link pair = pool.united(Link::one(2), Link::one(1));
  EXPECT_EQ(pool.united(pair, Link::one(1)), pair);
  EXPECT_EQ(pool.united(pair, Link()), pair);
  EXPECT_EQ(pool.united(Link(), pair), pair);
  Ids ids;
  pool.expand(pool.united(pair, Link::one(9)), ids);
  EXPECT_THAT(ids, ElementsAre(1, 2, 9));
}

// Unions are remembered, but few of them.
TEST(LinkPool, ManyUnions) {
  LinkPool pool;
  for (int round = 0; round < 3; ++round) {
    for (ComponentId a = 1; a <= 40; ++a) {
      for (ComponentId b = a + 1; b <= 40; ++b) {
        const Link both = pool.united(Link::one(a), Link::one(b));
        Ids ids;
        pool.expand(both, ids);
        ASSERT_THAT(ids, ElementsAre(a, b));
        ASSERT_EQ(pool.united(Link::one(b), Link::one(a)), both);
      }
    }
  }
  EXPECT_EQ(pool.sets().size(), 40u * 39u / 2u);
}

// Instruction fusing: the fused instruction belongs to the owners of both.
TEST(LineageLog, ExtendKeepsBothOwners) {
  LineageLog log;
  log.record(7, Ids{3});
  log.extend(7, Ids{4});
  EXPECT_THAT(log.owners(7), ElementsAre(3, 4));
  EXPECT_TRUE(log.link_of(1).none());
  EXPECT_TRUE(log.link_of(99).none());
  log.record(7, Ids{5});
  EXPECT_THAT(log.owners(7), ElementsAre(5));
}

}  // namespace
}  // namespace tailor::tagging
