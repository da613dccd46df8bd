#include "daemon/query/load/late_spans.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <vector>

namespace tailor::query {
namespace {

using Piece = LateSpans::Piece;

Piece name(std::uint64_t begin, std::uint64_t end) {
  return {begin, end, kTimeMin, true};
}

// The rule as it is written, one address at a time.
std::optional<std::uint32_t> by_the_rule(const std::vector<Piece>& pieces, std::uint64_t address,
                                         TimeNs time) {
  std::optional<std::uint32_t> named, timed;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const Piece& each = pieces[i];
    if (address < each.begin || address >= each.end) continue;
    if (!each.untimed) {
      if (each.loaded <= time && (!timed || pieces[*timed].loaded <= each.loaded)) timed = i;
      continue;
    }
    const bool within = named && pieces[*named].begin >= each.begin && pieces[*named].end <= each.end &&
                        pieces[*named].end - pieces[*named].begin < each.end - each.begin;
    if (!within) named = i;
  }
  return timed ? timed : named;
}

TEST(LateSpans, AreAsTheRuleSaysHoweverPiecesOverlap) {
  std::mt19937 random(7);
  const auto below = [&random](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Piece> pieces;
    for (std::uint32_t i = 1 + below(40); i > 0; --i) {
      const std::uint64_t begin = below(60);
      pieces.push_back({begin, begin + 1 + below(below(4) == 0 ? 60 : 6), kTimeMin, true});
      if (round % 3 != 0 && below(2) == 0) {
        pieces.back().untimed = false;
        pieces.back().loaded = static_cast<TimeNs>(below(10));
      }
    }
    const LateSpans spans(pieces);
    EXPECT_EQ(spans.left_out(), 0u);
    for (std::uint64_t address = 0; address < 125; ++address) {
      for (TimeNs time = -1; time < 11; ++time)
        ASSERT_EQ(spans.find(address, time), by_the_rule(pieces, address, time))
            << "round " << round << ", address " << address << ", time " << time;
    }
  }
}

TEST(LateSpans, OfNothingFindNothing) {
  EXPECT_EQ(LateSpans().find(5, 5), std::nullopt);
  EXPECT_EQ(LateSpans(std::vector<Piece>{}).find(0, 0), std::nullopt);
}

// Each of the large names contains all small ones: painting them all is the product of both.
TEST(LateSpans, LeaveOutAndCountWhatWouldBeTooMuchWork) {
  std::vector<Piece> pieces;
  constexpr std::uint64_t kSmall = 100;
  for (std::uint64_t i = 0; i < kSmall; ++i) pieces.push_back(name(10 * i, 10 * i + 5));
  for (std::uint64_t i = 0; i < 10; ++i) pieces.push_back(name(0, 10 * kSmall + 10 - i));
  LateSpans::Limits limits;
  limits.most_steps = 10 * kSmall;
  EXPECT_EQ(LateSpans(pieces, limits).left_out(), 0u);
  limits.most_steps = 5 * kSmall;
  pieces.push_back(name(3, 5));  // a small one that comes last
  const LateSpans some(pieces, limits);
  EXPECT_EQ(some.left_out(), 5u);
  EXPECT_EQ(some.find(4, 0), pieces.size() - 1);
  EXPECT_EQ(some.find(2, 0), 0u);
  EXPECT_EQ(some.find(10 * kSmall - 3, 0), kSmall + 4) << "the last of those that had their turn";
}

TEST(LateSpans, KeepTheLatestOfEachPlaceWhereThereIsNoRoomForAll) {
  std::vector<Piece> pieces;
  for (TimeNs load = 0; load < 8; ++load) {
    pieces.push_back({100, 200, load, false});
    pieces.push_back({300, 400, load, false});
  }
  LateSpans::Limits limits;
  limits.at_one_place = 8;
  limits.in_all = 16;
  EXPECT_EQ(LateSpans(pieces, limits).left_out(), 0u);
  limits.in_all = 15;
  const LateSpans halved(pieces, limits);
  EXPECT_EQ(halved.left_out(), 8u) << "4 of both, as no place takes the room of another";
  for (const std::uint64_t address : {150, 350}) {
    EXPECT_EQ(halved.find(address, 3), std::nullopt) << address;
    EXPECT_EQ(halved.find(address, 4), by_the_rule(pieces, address, 4)) << address;
    EXPECT_EQ(halved.find(address, 9), by_the_rule(pieces, address, 9)) << address;
  }
  limits.in_all = 0;
  EXPECT_EQ(LateSpans(pieces, limits).find(350, 9), pieces.size() - 1) << "the last one always counts";
}

}  // namespace
}  // namespace tailor::query
