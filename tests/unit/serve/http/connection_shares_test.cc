#include "daemon/serve/http/connection_shares.h"

#include <gtest/gtest.h>

namespace tailor::serve {
namespace {

using Door = ConnectionShares::Door;
using Guest = ConnectionShares::Guest;

const Guest kRoot{Door::kSocket, "0", true};

// How many get in, of those that try.
std::size_t fill(ConnectionShares& shares, const Guest& guest, int tries, int first) {
  std::size_t in = 0;
  for (int i = 0; i < tries; ++i) {
    if (!shares.has_room_for(guest)) continue;
    shares.opened(first + i, guest);
    ++in;
  }
  return in;
}

TEST(ConnectionSharesTest, WhoHasNoTokenShutsNobodyOut) {
  ConnectionShares shares(64);
  EXPECT_EQ(fill(shares, {Door::kMetrics, "127.0.0.1", false}, 300, 0), 16u);
  EXPECT_TRUE(shares.has_room_for({Door::kTcp, "127.0.0.1", false}));
  EXPECT_TRUE(shares.has_room_for({Door::kSocket, "1000", false}));
  EXPECT_TRUE(shares.has_room_for(kRoot));
}

TEST(ConnectionSharesTest, MetricsFromManyAddressesAreOneShare) {
  ConnectionShares shares(64);
  for (int i = 0; i < 100; ++i) fill(shares, {Door::kMetrics, std::to_string(i), false}, 3, 1000 + 3 * i);
  EXPECT_EQ(shares.open().size(), 16u);
}

TEST(ConnectionSharesTest, OneUserOrAddressLeavesRoomForOthers) {
  ConnectionShares shares(64);
  EXPECT_EQ(fill(shares, {Door::kSocket, "1000", false}, 300, 0), 16u);
  EXPECT_EQ(fill(shares, {Door::kTcp, "10.0.0.1", false}, 300, 1000), 32u);
  // What is left belongs to root.
  EXPECT_FALSE(shares.has_room_for({Door::kSocket, "1001", false}));
  EXPECT_EQ(fill(shares, kRoot, 300, 2000), 16u);
  EXPECT_FALSE(shares.has_room_for(kRoot));
}

TEST(ConnectionSharesTest, WhatIsClosedIsFree) {
  ConnectionShares shares(4);
  const Guest user{Door::kSocket, "1000", false};
  shares.opened(7, user);
  EXPECT_FALSE(shares.has_room_for(user));
  shares.closed(7);
  EXPECT_TRUE(shares.has_room_for(user));
}

TEST(ConnectionSharesTest, CountsWhoIsTurnedAway) {
  ConnectionShares shares(4);
  shares.refused({Door::kSocket, "user 1000", false});
  shares.refused({Door::kSocket, "user 1000", false});
  shares.refused({Door::kTcp, "address 10.0.0.1", false});
  EXPECT_EQ(shares.refusals(),
            (std::map<std::string, std::uint64_t>{{"address 10.0.0.1", 1}, {"user 1000", 2}}));
}

TEST(ConnectionSharesTest, AnyNumberServesSomebody) {
  for (std::size_t all = 1; all < 8; ++all) {
    EXPECT_TRUE(ConnectionShares(all).has_room_for({Door::kTcp, "10.0.0.1", false})) << all;
    EXPECT_TRUE(ConnectionShares(all).has_room_for({Door::kMetrics, "10.0.0.1", false})) << all;
    EXPECT_TRUE(ConnectionShares(all).has_room_for(kRoot)) << all;
  }
}

}  // namespace
}  // namespace tailor::serve
