#include "daemon/serve/shares.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace tailor::serve {
namespace {

const Asker kTrusted{"user 0", true};

// As many as fit in, of these tries.
std::size_t fill(Shares& shares, const Asker& asker, int tries = 100) {
  std::size_t taken = 0;
  for (int i = 0; i < tries; ++i) taken += shares.take(asker) ? 1 : 0;
  return taken;
}

TEST(Shares, NobodyShutsOthersOut) {
  Shares shares(16);
  EXPECT_EQ(fill(shares, {"user 1000"}), 8u);
  EXPECT_EQ(fill(shares, {"user 1001"}), 4u);
  EXPECT_FALSE(shares.fits({"user 1002"})) << "what is left is root's";
  EXPECT_EQ(fill(shares, kTrusted), 4u);
  EXPECT_EQ(shares.taken(),
            (std::map<std::string, std::size_t>{{"user 0", 4}, {"user 1000", 8}, {"user 1001", 4}}));
  EXPECT_EQ(shares.refused(),
            (std::map<std::string, std::uint64_t>{{"user 0", 96}, {"user 1000", 92}, {"user 1001", 96}}));
}

TEST(Shares, RootMayHaveAll) {
  Shares shares(16);
  EXPECT_EQ(fill(shares, kTrusted), 16u);
  EXPECT_FALSE(shares.fits({"user 1000"}));
}

TEST(Shares, WhatIsGivenBackIsFree) {
  Shares shares(2);
  EXPECT_TRUE(shares.take({"user 1000"}));
  EXPECT_FALSE(shares.fits({"user 1001"}));
  shares.give_back({"user 1000"});
  shares.give_back({"user 1000"});  // it has none
  EXPECT_TRUE(shares.take({"user 1001"}));
  EXPECT_EQ(shares.taken(), (std::map<std::string, std::size_t>{{"user 1001", 1}}));
}

TEST(Shares, AnyNumberServesSomebody) {
  for (std::size_t all = 1; all < 8; ++all) {
    EXPECT_TRUE(Shares(all).fits({"user 1000"})) << all;
    EXPECT_TRUE(Shares(all).fits(kTrusted)) << all;
  }
  EXPECT_FALSE(Shares(0).fits(kTrusted));
}

TEST(Shares, ManyNamesTakeNoMemory) {
  RefusalCounts counts;
  for (std::size_t i = 0; i < RefusalCounts::kMostNames + 10; ++i) counts.count(std::to_string(i));
  counts.count("0");
  EXPECT_EQ(counts.all().size(), RefusalCounts::kMostNames + 1);
  EXPECT_EQ(counts.all().at("0"), 2u);
  EXPECT_EQ(counts.all().at(RefusalCounts::kOthers), 10u);
}

TEST(Shares, RootAndTheDaemonsUserAreTrusted) {
  EXPECT_TRUE(asker_of_user(0).trusted);
  EXPECT_TRUE(asker_of_user(::geteuid()).trusted);
  EXPECT_FALSE(asker_of_user(::geteuid() + 1).trusted);
  EXPECT_EQ(asker_of_user(1234).who, "user 1234");
}

}  // namespace
}  // namespace tailor::serve
