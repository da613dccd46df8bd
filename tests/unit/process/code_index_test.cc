#include "daemon/process/code_index.h"

#include <gtest/gtest.h>

#include <set>

namespace tailor::process {
namespace {

CodeState object(CodeId id, std::uint64_t base, std::uint64_t size, TimeNs loaded) {
  CodeState code;
  code.id = id;
  code.base = base;
  code.end = base + size;
  code.loaded = loaded;
  return code;
}

CodeId found(const CodeIndex& index, std::uint64_t address, TimeNs time) {
  const CodeState* code = index.find(address, time);
  return code == nullptr ? 0 : code->id;
}

TEST(CodeIndex, EndsAreExclusiveAndLoadTimesInclusive) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 50)).ok());
  EXPECT_EQ(found(index, 99, 60), 0u);
  EXPECT_EQ(found(index, 100, 60), 1u);
  EXPECT_EQ(found(index, 109, 60), 1u);
  EXPECT_EQ(found(index, 110, 60), 0u);
  EXPECT_EQ(found(index, 100, 49), 0u);
  EXPECT_EQ(found(index, 100, 50), 1u);
}

TEST(CodeIndex, AReusedAddressIsToldApartByTime) {
  CodeIndex index({});
  for (CodeId id = 1; id <= 5; ++id) {
    ASSERT_TRUE(index.add(object(id, 100 + id, 20, static_cast<TimeNs>(id * 100))).ok());
    ASSERT_TRUE(index.remove(id, static_cast<TimeNs>(id * 100 + 50)));
  }
  for (CodeId id = 1; id <= 5; ++id) {
    const auto loaded = static_cast<TimeNs>(id * 100);
    EXPECT_EQ(found(index, 110, loaded - 1), 0u) << id;
    EXPECT_EQ(found(index, 110, loaded), id);
    EXPECT_EQ(found(index, 110, loaded + 49), id);
    EXPECT_EQ(found(index, 110, loaded + 50), 0u) << id;
  }
}

TEST(CodeIndex, WhatWasUnloadedStaysUntilTheWatermarkHasPassed) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 0)).ok());
  ASSERT_TRUE(index.remove(1, 50));
  index.trim(49);
  EXPECT_EQ(found(index, 100, 49), 1u);
  index.trim(50);
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.bytes(), 0u);
}

TEST(CodeIndex, LoadingOverLiveCodeEndsIt) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 0)).ok());
  ASSERT_TRUE(index.add(object(2, 110, 10, 0)).ok());
  ASSERT_TRUE(index.add(object(3, 105, 10, 40)).ok());
  EXPECT_EQ(index.replaced(), 2u);
  EXPECT_EQ(found(index, 106, 39), 1u);
  EXPECT_EQ(found(index, 112, 39), 2u);
  EXPECT_EQ(found(index, 106, 40), 3u);
  EXPECT_EQ(found(index, 102, 40), 0u);
}

// One message may end all that others made.
TEST(CodeIndex, ManyThatEndAtOnceAreFoundAtTheirTime) {
  constexpr CodeId kMany = 5000;
  Limits limits;
  limits.retired_code = kMany;
  CodeIndex index(limits);
  for (CodeId id = 1; id <= kMany; ++id) ASSERT_TRUE(index.add(object(id, id * 16, 16, 10)).ok());
  ASSERT_TRUE(index.add(object(kMany + 1, 16 * 10, 16 * (kMany - 20), 50)).ok());
  EXPECT_EQ(index.replaced(), kMany - 20);
  for (CodeId id : {CodeId{1}, CodeId{9}, CodeId{10}, CodeId{2000}, kMany - 11, kMany - 10, kMany}) {
    EXPECT_EQ(found(index, id * 16 + 3, 40), id);
  }
  EXPECT_EQ(found(index, 2000 * 16, 50), kMany + 1);
  EXPECT_EQ(found(index, 5 * 16, 50), 5u);
  // And a connection that speaks of none of them again.
  EXPECT_EQ(index.remove_unseen(1, 60).size(), 21u);
  EXPECT_EQ(found(index, 2000 * 16, 59), kMany + 1);
  EXPECT_EQ(found(index, 2000 * 16, 60), 0u);
  index.trim(60);
  EXPECT_EQ(index.size(), 0u);
}

TEST(CodeIndex, KeepsOnlySoManyThatWereUnloaded) {
  Limits limits;
  limits.retired_code = 3;
  CodeIndex index(limits);
  for (CodeId id = 1; id <= 5; ++id) {
    ASSERT_TRUE(index.add(object(id, id * 16, 16, 10)).ok());
    ASSERT_TRUE(index.remove(id, 20));
  }
  EXPECT_EQ(index.size(), 3u);
  EXPECT_EQ(index.forgotten_early(), 2u);
  EXPECT_EQ(found(index, 5 * 16, 15), 5u);
}

TEST(CodeIndex, RefusesTheSameIdTwiceAndTooMany) {
  Limits limits;
  limits.code_objects = 2;
  CodeIndex index(limits);
  ASSERT_TRUE(index.add(object(1, 100, 10, 0)).ok());
  EXPECT_FALSE(index.add(object(1, 200, 10, 0)).ok());
  ASSERT_TRUE(index.add(object(2, 200, 10, 0)).ok());
  EXPECT_FALSE(index.add(object(3, 300, 10, 0)).ok());
}

TEST(CodeIndex, HoldsNoMoreThanItsLimitsThoughNobodyTrims) {
  Limits limits;
  limits.code_objects = limits.retired_code = 8;
  limits.bytes = 64 * 1024;
  CodeIndex index(limits);
  for (CodeId id = 1; id <= 1000; ++id) {
    CodeState code = object(id, id * 100, 50, static_cast<TimeNs>(id));
    code.rows.resize(id % 7 * 100);
    ASSERT_TRUE(index.add(std::move(code)).ok());
    ASSERT_TRUE(index.remove(id, static_cast<TimeNs>(id + 1)));
    EXPECT_LE(index.size(), 9u);
    EXPECT_LE(index.bytes(), limits.bytes);
  }
  EXPECT_GT(index.forgotten_early(), 900u);
}

// Numbers of rows that are known at a time differ, though there are only a few.
TEST(CodeIndex, RowsKeepApartWhenTheirNumbersAreUsedUp) {
  CodeIndex index({}, 50);
  std::set<std::uint64_t> numberings;
  for (CodeId id = 1; id <= 200; ++id) {
    CodeState code = object(id, id * 100, 50, static_cast<TimeNs>(id));
    code.rows.resize(id % 5);
    ASSERT_TRUE(index.add(std::move(code)).ok());
    ASSERT_EQ(index.remove(id - 4, static_cast<TimeNs>(id)), id > 4);
    index.trim(static_cast<TimeNs>(id) - 1);
    std::set<std::uint32_t> numbers;
    std::size_t rows = 0;
    for (CodeId known = id > 5 ? id - 5 : 1; known <= id; ++known) {
      const CodeState* state = index.find(known * 100, static_cast<TimeNs>(id) - (known + 4 <= id));
      if (state == nullptr) continue;
      for (std::uint32_t row = 0; row <= state->rows.size(); ++row, ++rows)
        numbers.insert(state->first_row + row);
    }
    EXPECT_EQ(numbers.size(), rows) << id;
    EXPECT_EQ(numbers.count(0), 0u);
    numberings.insert(index.row_numbering());
  }
  EXPECT_GT(numberings.size(), 5u);
}

TEST(CodeIndex, UnloadsThatArriveOutOfOrderAreStillFound) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 0)).ok());
  ASSERT_TRUE(index.add(object(2, 200, 10, 0)).ok());
  ASSERT_TRUE(index.remove(2, 60));
  ASSERT_TRUE(index.remove(1, 50));
  EXPECT_EQ(found(index, 100, 49), 1u);
  EXPECT_EQ(found(index, 200, 59), 2u);
}

// Threads of an engine may tell of the new object before they tell of the old one.
TEST(CodeIndex, ALateLoadEndsNothingNewer) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(2, 105, 10, 200)).ok());
  ASSERT_TRUE(index.add(object(1, 100, 10, 100)).ok());
  EXPECT_EQ(found(index, 106, 150), 1u);
  EXPECT_EQ(found(index, 106, 199), 1u);
  EXPECT_EQ(found(index, 106, 200), 2u);
  EXPECT_EQ(found(index, 112, 900), 2u);
  EXPECT_EQ(found(index, 102, 200), 0u) << "the first newer one that overlaps it has ended it";
  EXPECT_TRUE(index.remove(1, 300)) << "its end is no fault of the engine's";
  EXPECT_FALSE(index.remove(1, 300)) << "but once";
  EXPECT_EQ(found(index, 112, 900), 2u);
  index.trim(200);
  EXPECT_EQ(index.size(), 1u);
}

// The newer one may be over already.
TEST(CodeIndex, ALateLoadEndsWhereANewerOneWas) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(2, 100, 10, 200)).ok());
  ASSERT_TRUE(index.remove(2, 300));
  ASSERT_TRUE(index.add(object(1, 100, 10, 100)).ok());
  EXPECT_EQ(found(index, 100, 199), 1u);
  EXPECT_EQ(found(index, 100, 299), 2u);
  EXPECT_EQ(found(index, 100, 300), 0u);
  EXPECT_TRUE(index.remove(1, 150));
  EXPECT_EQ(found(index, 100, 149), 1u);
  EXPECT_EQ(found(index, 100, 150), 0u) << "its own end was earlier";
}

TEST(CodeIndex, ALateUnloadEndsNothingNewer) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 100)).ok());
  ASSERT_TRUE(index.add(object(2, 100, 10, 200)).ok());
  ASSERT_TRUE(index.add(object(1, 300, 10, 400)).ok()) << "its number is free";
  EXPECT_TRUE(index.remove(1, 150));
  EXPECT_EQ(found(index, 100, 149), 1u);
  EXPECT_EQ(found(index, 100, 150), 0u);
  EXPECT_EQ(found(index, 300, 900), 1u) << "this is another object of that number";
  EXPECT_TRUE(index.remove(1, 160));
  EXPECT_EQ(found(index, 300, 900), 1u);
  EXPECT_TRUE(index.remove(1, 500));
  EXPECT_EQ(found(index, 300, 500), 0u);
}

TEST(CodeIndex, WhatTakesThePlaceOfCodeEndsTheOlder) {
  CodeIndex index({});
  ASSERT_TRUE(index.add(object(1, 100, 10, 100)).ok());
  ASSERT_TRUE(index.add(object(2, 110, 10, 200)).ok());
  ASSERT_TRUE(index.add(object(3, 120, 10, 100)).ok());
  ASSERT_TRUE(index.add(object(4, 130, 10, 100)).ok());
  ASSERT_TRUE(index.remove(4, 400));
  index.end_code(105, 135, 200, 300);
  index.end_code(0, 1000, kTimeMin, kTimeMin);
  EXPECT_EQ(found(index, 101, 299), 1u);
  EXPECT_EQ(found(index, 101, 300), 0u);
  EXPECT_EQ(found(index, 111, 900), 2u) << "it came later";
  EXPECT_EQ(found(index, 121, 300), 0u);
  EXPECT_EQ(found(index, 131, 300), 0u) << "its own end was later";
  EXPECT_TRUE(index.remove(1, 500));
  EXPECT_TRUE(index.remove(3, 250));
  EXPECT_EQ(found(index, 121, 250), 0u);
}

TEST(CodeIndex, AwaitsOnlySoManyUnloads) {
  Limits limits;
  limits.retired_code = 3;
  CodeIndex index(limits);
  for (CodeId id = 1; id <= 50; ++id)
    ASSERT_TRUE(index.add(object(id, 100, 10, static_cast<TimeNs>(id))).ok());
  EXPECT_EQ(index.awaited(), 3u);
  EXPECT_EQ(index.size(), 4u);
  EXPECT_FALSE(index.remove(1, 60));
  EXPECT_TRUE(index.remove(49, 60));
  EXPECT_EQ(index.remove_unseen(1, 70), std::vector<CodeId>{50});
  EXPECT_EQ(index.awaited(), 0u) << "nobody speaks for them any more";
}

// Thousands of methods end at a time, and a JVM tells others then that were compiled long before.
TEST(CodeIndex, WhatIsToldLateAtAnotherPlaceIsTaken) {
  CodeIndex index({});
  constexpr CodeId kEnded = 10'000, kLate = 10'000;
  for (CodeId id = 1; id <= kEnded; ++id) ASSERT_TRUE(index.add(object(id, id * 100, 10, 100)).ok());
  for (CodeId id = 1; id <= kEnded; ++id) ASSERT_TRUE(index.remove(id, 200));
  for (CodeId id = kEnded + 1; id <= kEnded + kLate; ++id)
    ASSERT_TRUE(index.add(object(id, id * 100, 10, 50)).ok()) << id;
  EXPECT_EQ(found(index, (kEnded + 7) * 100, 60), kEnded + 7);
  EXPECT_EQ(found(index, 700, 150), 7u);
}

// An object that is told late is compared with all that lay at its place.
TEST(CodeIndex, ManyThatAreToldLateAtOnePlaceAreRefused) {
  CodeIndex index({});
  constexpr CodeId kEnded = 10'000, kLate = 1'000;
  for (CodeId id = 1; id <= kEnded; ++id) {
    ASSERT_TRUE(index.add(object(id, 100, 10, 1000 + static_cast<TimeNs>(id))).ok());
    ASSERT_TRUE(index.remove(id, 1001 + static_cast<TimeNs>(id)));
  }
  CodeId taken = 0;
  for (CodeId id = kEnded + 1; id <= kEnded + kLate; ++id) {
    const Status told = index.add(object(id, 100, 10, 1000 - static_cast<TimeNs>(id - kEnded)));
    taken += told.ok();
    if (!told.ok()) {
      EXPECT_EQ(told.error().kind, ErrorKind::kExhausted);
    }
  }
  EXPECT_GE(taken, 3u) << "a few are no burden";
  EXPECT_LE(taken, 20u) << "each looks at 10,000";
  EXPECT_EQ(found(index, 100, 998), kEnded + 2) << "until the next one was loaded";
  EXPECT_EQ(found(index, 100, 1000 - static_cast<TimeNs>(taken) - 1), 0u) << "a refused one is nobody's";
  EXPECT_TRUE(index.add(object(kEnded + kLate + 1, 100, 10, 20'000)).ok()) << "what is told in time is taken";
}

// So is one that lies over many newer ones; it ends what is older all the same.
TEST(CodeIndex, ManyThatLieUnderNewerOnesAreRefused) {
  CodeIndex index({});
  constexpr CodeId kNewer = 20'000, kLate = 1'000;
  constexpr std::uint64_t kEnd = 16 * (kNewer + 2);
  ASSERT_TRUE(index.add(object(kNewer + 1, 0, 8, 10)).ok());
  for (CodeId id = 1; id <= kNewer; ++id) ASSERT_TRUE(index.add(object(id, id * 16, 8, 1000)).ok());
  CodeId taken = 0;
  for (CodeId id = kNewer + 2; id < kNewer + 2 + kLate; ++id)
    taken += index.add(object(id, 16, kEnd - 16, 50)).ok();
  EXPECT_GE(taken, 1u);
  EXPECT_LE(taken, 10u) << "each looks at 20,000";
  EXPECT_EQ(found(index, 1, 60), kNewer + 1);
  ASSERT_FALSE(index.add(object(kNewer + 5000, 0, kEnd, 50)).ok());
  EXPECT_EQ(found(index, 1, 2000), 0u) << "something took its place";
  EXPECT_EQ(found(index, 16 * kNewer, 2000), kNewer);
}

// A mapping is compared with as few.
TEST(CodeIndex, MappingsUnderManyNewerOnesAreCounted) {
  CodeIndex index({});
  constexpr CodeId kNewer = 20'000;
  for (CodeId id = 1; id <= kNewer; ++id) ASSERT_TRUE(index.add(object(id, id * 16, 8, 1000)).ok());
  for (int i = 0; i < 100; ++i) index.end_code(0, 16 * (kNewer + 1), 50, 50);
  EXPECT_GT(index.forgotten_early(), 80u);
  EXPECT_EQ(index.size(), std::size_t{kNewer});
}

TEST(CodeIndex, CodeThatEndedAndIsSaidAgainStaysEnded) {
  CodeIndex index({});
  CodeState first = object(1, 100, 50, 10);
  first.seen = 1;
  ASSERT_TRUE(index.add(std::move(first)).ok());
  index.end_code(100, 150, 20, 20);
  EXPECT_FALSE(index.says_again(1, 10, 1)) << "the same connection: another object of this number";
  EXPECT_FALSE(index.says_again(1, 10'000'000, 2));
  EXPECT_TRUE(index.says_again(1, 11, 2)) << "clocks of connections differ a little";
  EXPECT_EQ(found(index, 120, 30), 0u);
  index.remove_unseen(2, 40);
  EXPECT_TRUE(index.remove(1, 50)) << "its unloading is heard of";
}

}  // namespace
}  // namespace tailor::process
