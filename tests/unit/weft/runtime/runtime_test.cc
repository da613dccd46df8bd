#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <set>

#include "compiler/weft/runtime/group_table.h"
#include "compiler/weft/runtime/join_table.h"
#include "compiler/weft/runtime/query_error.h"
#include "compiler/weft/runtime/scalar.h"
#include "compiler/weft/runtime/sort.h"

namespace tailor::weft {
namespace {

constexpr std::uint64_t kFactor = UINT64_C(0x9E3779B97F4A7C15);

struct Row {
  HashRow header;
  std::uint64_t key;
};

TEST(Memory, LimitIsAnErrorAndEverythingIsGivenBack) {
  MemoryAccount account(1 << 20);
  {
    TupleBuffer buffer(account, 0, 64);
    EXPECT_THROW(
        {
          for (int i = 0; i < 1 << 20; ++i) buffer.append();
        },
        QueryError);
    EXPECT_LE(account.used(), std::uint64_t{1} << 20);
  }
  EXPECT_EQ(account.used(), 0u);
  EXPECT_GT(account.peak(), 0u);
}

TEST(JoinTable, FindsEveryRowAmongSeveralBuffers) {
  MemoryAccount account(UINT64_MAX);
  TupleBuffer a(account, 0, sizeof(Row)), b(account, 0, sizeof(Row));
  for (std::uint64_t key = 0; key < 10000; ++key) {
    auto* row = reinterpret_cast<Row*>((key % 3 == 0 ? a : b).append());
    row->header.hash = key / 2 * kFactor;
    row->key = key;
  }
  JoinTable table(account, 0);
  table.open({&a, &b});
  for (std::size_t piece = 0; piece < table.pieces(); ++piece) table.insert(piece);
  std::uint64_t* directory;
  std::uint64_t shift;
  std::memcpy(&directory, reinterpret_cast<std::byte*>(&table) + JoinTable::kDirectoryOffset, 8);
  std::memcpy(&shift, reinterpret_cast<std::byte*>(&table) + JoinTable::kShiftOffset, 8);
  for (std::uint64_t pair = 0; pair < 5000; ++pair) {
    std::uint64_t slot = directory[pair * kFactor >> shift];
    EXPECT_NE(slot & join_filter_bit(pair * kFactor), 0u);
    std::set<std::uint64_t> keys;
    for (auto* row = reinterpret_cast<HashRow*>(slot & kJoinPointerMask); row != nullptr; row = row->next) {
      if (row->hash == pair * kFactor) keys.insert(reinterpret_cast<Row*>(row)->key);
    }
    EXPECT_EQ(keys, (std::set<std::uint64_t>{pair * 2, pair * 2 + 1}));
  }
}

TEST(GroupTable, ForgetsWhenFullButKeepsTheRows) {
  MemoryAccount account(UINT64_MAX);
  LocalGroups groups(account, 0, 0, sizeof(Row));
  const std::uint64_t count = LocalGroups::kMaxGroups + 10;
  for (std::uint64_t key = 0; key < count; ++key) {
    EXPECT_EQ(groups.flushed(), key > LocalGroups::kMaxGroups) << key;
    reinterpret_cast<Row*>(groups.add(key * kFactor))->key = key;
  }
  GroupTables tables{{&groups}};
  GroupCursor cursor(account, 0);
  std::set<std::uint64_t> keys;
  for (unsigned partition = 0; partition < kGroupPartitions; ++partition) {
    EXPECT_TRUE(cursor.open(tables.locals, partition)) << "groups may be in two places";
    while (cursor.next()) {
      std::byte* bounds[2];
      std::memcpy(bounds, reinterpret_cast<std::byte*>(&cursor) + GroupCursor::kBeginOffset, sizeof(bounds));
      for (std::byte* at = bounds[0]; at != bounds[1]; at += sizeof(Row))
        keys.insert(reinterpret_cast<Row*>(at)->key);
    }
  }
  EXPECT_EQ(keys.size(), count);
}

bool less_by_key(const std::byte* a, const std::byte* b) {
  return reinterpret_cast<const Row*>(a)->key < reinterpret_cast<const Row*>(b)->key;
}

TEST(Sort, MergesRunsAndKeepsTheFirst) {
  MemoryAccount account(UINT64_MAX);
  TupleBuffer rows(account, 0, sizeof(Row));
  TopRows top(account, 0, 0, sizeof(Row), 5);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    std::uint64_t key = i * 7919 % 1000;
    reinterpret_cast<Row*>(rows.append())->key = key;
    reinterpret_cast<Row*>(top.scratch())->key = key;
    top.offer(less_by_key);
  }
  SortedRows sorted(account, 0);
  sorted.collect({&rows}, 3);
  for (std::size_t run = 0; run < sorted.runs(); ++run) sorted.sort_run(run, less_by_key);
  sorted.merge(less_by_key);
  for (std::uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(reinterpret_cast<Row*>(sorted.rows()[i])->key, i);
  SortedRows first(account, 0);
  first.collect({&top.rows()}, 1);
  first.sort_run(0, less_by_key);
  ASSERT_EQ(first.size(), 5u);
  for (std::uint64_t i = 0; i < 5; ++i) EXPECT_EQ(reinterpret_cast<Row*>(first.rows()[i])->key, i);
}

TEST(Scalar, WideDivisionRoundsHalfAwayFromZero) {
  auto divide = [](__int128 a, __int128 b) {
    std::uint64_t result[2];
    weft_rt_divide128(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(a >> 64),
                      static_cast<std::uint64_t>(b), static_cast<std::uint64_t>(b >> 64), result);
    return static_cast<std::int64_t>(result[0]);
  };
  EXPECT_EQ(divide(7, 2), 4);
  EXPECT_EQ(divide(-7, 2), -4);
  EXPECT_EQ(divide(6, 4), 2);
  EXPECT_EQ(divide(5, 4), 1);
  EXPECT_EQ(divide(-5, -4), 1);
  EXPECT_EQ(weft_rt_burn(42, 1000), 42u);
  EXPECT_LT(weft_rt_text_compare("ab", 2, "abc", 3), 0);
  EXPECT_GT(weft_rt_text_compare("\xff", 1, "a", 1), 0);
}

}  // namespace
}  // namespace tailor::weft
