// Nobody pushes out who has fewer connections.
#include "daemon/control/connection_share.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <utility>
#include <vector>

namespace tailor::control {
namespace {

constexpr std::uint32_t kAda = 1001, kBob = 1002;

std::vector<Connected> of(std::initializer_list<std::pair<std::uint32_t, std::size_t>> users) {
  std::vector<Connected> out;
  for (const auto& [user, count] : users) out.insert(out.end(), count, Connected{user});
  return out;
}

// As the server does it, with as many places as there are.
std::uint32_t let_in(std::vector<Connected>& connected, std::uint32_t newcomer) {
  const std::size_t goes = makes_room(connected, newcomer);
  EXPECT_LT(goes, connected.size());
  const std::uint32_t user = connected[goes].user;
  connected.erase(connected.begin() + static_cast<std::ptrdiff_t>(goes));
  connected.push_back({newcomer});
  return user;
}

std::ptrdiff_t count_of(const std::vector<Connected>& connected, std::uint32_t user) {
  return std::ranges::count(connected, user, &Connected::user);
}

TEST(ConnectionShare, AloneAUserLosesTheOneThatWasSilentLongest) {
  EXPECT_EQ(makes_room(of({{kAda, 4}}), kAda), 0u);
  EXPECT_EQ(makes_room(of({{kOwner, 4}}), kOwner), 0u);
  EXPECT_EQ(makes_room(of({{kAda, 1}}), kBob), 0u);
}

TEST(ConnectionShare, WhoeverHasMostMakesRoom) {
  std::vector<Connected> connected = of({{kOwner, 2}, {kBob, 1}, {kAda, 5}});
  for (int i = 0; i < 100; ++i) EXPECT_EQ(let_in(connected, kAda), kAda);
  EXPECT_EQ(count_of(connected, kBob), 1);
  EXPECT_EQ(count_of(connected, kOwner), 2);
  // Bob has his even share of what the owner leaves, and no more.
  for (int i = 0; i < 100; ++i) (void)let_in(connected, kBob);
  EXPECT_EQ(count_of(connected, kAda), 3);
  EXPECT_EQ(count_of(connected, kBob), 3);
  EXPECT_EQ(count_of(connected, kOwner), 2);
}

TEST(ConnectionShare, HalfOfThePlacesIsTheOwnersHoweverManyUsersThereAre) {
  std::vector<Connected> connected = of({{kOwner, 8}});
  for (std::uint32_t user = 1000; user < 1100; ++user) (void)let_in(connected, user);
  EXPECT_EQ(count_of(connected, kOwner), 4);
  // It takes them again where they are not its own.
  connected = of({{kAda, 4}, {kBob, 4}});
  for (int i = 0; i < 4; ++i) EXPECT_NE(let_in(connected, kOwner), kOwner);
  EXPECT_EQ(count_of(connected, kOwner), 4);
}

TEST(ConnectionShare, WhoWaitsGoesOnlyWhereAllOfTheUserWait) {
  std::vector<Connected> connected = of({{kAda, 3}, {kBob, 1}});
  connected[0].waits = true;
  EXPECT_EQ(makes_room(connected, kBob), 1u);
  connected[1].waits = connected[2].waits = true;
  EXPECT_EQ(makes_room(connected, kBob), 0u) << "Bob's is not Ada's to give";
}

// Whatever happens: nobody with fewer connections than the newcomer's user loses one to it.
TEST(ConnectionShare, NobodyTakesFromWhoHasFewer) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::vector<Connected> connected;
    const std::size_t places = 1 + random() % 12;
    while (connected.size() < places)
      connected.push_back({static_cast<std::uint32_t>(random() % 4), random() % 2 != 0});
    const auto newcomer = static_cast<std::uint32_t>(random() % 4);
    const std::size_t goes = makes_room(connected, newcomer);
    ASSERT_LT(goes, places);
    const std::uint32_t user = connected[goes].user;
    if (user == newcomer || newcomer == kOwner) continue;
    ASSERT_GE(count_of(connected, user), count_of(connected, newcomer) + 1);
    if (user == kOwner) {
      ASSERT_GT(count_of(connected, kOwner), static_cast<std::ptrdiff_t>(places / 2));
    }
  }
}

}  // namespace
}  // namespace tailor::control
