#include "daemon/unwind/cfi_table.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

#include "tests/unit/unwind/small_table.h"

namespace tailor::unwind {
namespace {

using test::kCode;
using test::kTable;
using test::small_table;
using test::words;

TEST(CfiTable, EveryRowOfAFunction) {
  const CfiTable table = CfiTable::parse(small_table(), kTable);
  ASSERT_EQ(table.entries(), 1u);
  ASSERT_EQ(table.refused(), 0u);
  const auto stack = words({0xBB, 0x5555, 0x6666});
  bool signal = true;
  CfiWork work;
  struct Row {
    std::uint64_t offset, sp_above_return, returns_to;
  };
  // At the first instruction the return address is on top; after the push the caller's rbp is.
  for (const Row& row : {Row{0, 8, 0xBB}, Row{1, 16, 0x5555}}) {
    Frame frame;
    frame.set(kReturnAddress, kCode + row.offset);
    frame.set(kSp, 0x7000);
    frame.set(kBp, 0x1234);
    ASSERT_TRUE(table.step(frame, 0, true, {0x7000, stack}, signal, work));
    EXPECT_EQ(frame.value[kReturnAddress], row.returns_to);
    EXPECT_EQ(frame.value[kSp], 0x7000 + row.sp_above_return);
    EXPECT_EQ(frame.value[kBp], row.offset == 0 ? 0x1234u : 0xBBu);
    EXPECT_FALSE(signal);
  }
  Frame frame;
  frame.set(kReturnAddress, kCode + 0x20);
  frame.set(kSp, 0x6000);  // anywhere: the frame pointer counts
  frame.set(kBp, 0x7000);
  ASSERT_TRUE(table.step(frame, 0, true, {0x7000, stack}, signal, work));
  EXPECT_EQ(frame.value[kReturnAddress], 0x5555u);
  EXPECT_EQ(frame.value[kSp], 0x7010u);
}

// Where the frame of the function at `code` leads, when its second instruction is next; 0: nowhere.
std::uint64_t caller_by(const CfiTable& table, std::uint64_t code) {
  const auto stack = words({0xBB, 0x5555, 0x6666});
  Frame frame;
  frame.set(kReturnAddress, code + 1);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x1234);
  bool signal = false;
  CfiWork work;
  return table.step(frame, 0, true, {0x7000, stack}, signal, work) ? frame.value[kReturnAddress] : 0;
}

constexpr std::array<CfiTable::Range, 1> kAllCode = {{{kCode, kCode + 0x10000}}};

TEST(CfiTable, ADebugFrameOfAnyVersionCountsLikeAnEhFrame) {
  for (const int version : {1, 3, 4}) {
    for (const bool wide : {false, true}) {
      CfiTable table = CfiTable::parse({}, 0);
      table.add_debug_frame(test::small_debug_frame(kCode, version, wide), kAllCode);
      EXPECT_EQ(table.entries(), 1u) << version;
      EXPECT_EQ(table.refused(), 0u) << version;
      EXPECT_EQ(caller_by(table, kCode), 0x5555u) << version;
    }
  }
  EXPECT_EQ(CfiTable::parse(test::small_debug_frame(), kTable).entries(), 0u)
      << "the twin: read as an .eh_frame";
}

TEST(CfiTable, ADebugFrameAddsOnlyWhatIsNotKnown) {
  CfiTable table = CfiTable::parse(small_table(), kTable);
  std::vector<std::byte> further = test::small_debug_frame(kCode + 0x20);  // a part of what is known
  table.add_debug_frame(further, kAllCode);
  EXPECT_EQ(table.entries(), 1u);
  table.add_debug_frame(test::small_debug_frame(kCode + 0x40), kAllCode);
  EXPECT_EQ(table.entries(), 2u);
  EXPECT_EQ(caller_by(table, kCode), 0x5555u);
  EXPECT_EQ(caller_by(table, kCode + 0x40), 0x5555u);
  // Of a function that the linker removed.
  table.add_debug_frame(test::small_debug_frame(0), kAllCode);
  EXPECT_EQ(table.entries(), 2u);
}

TEST(CfiTable, AHostileDebugFrame) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = test::small_debug_frame(kCode, round % 2 == 0 ? 4 : 1, round % 5 == 0);
    const std::size_t changes = 1 + random() % 6;
    for (std::size_t i = 0; i < changes; ++i)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    CfiTable table = CfiTable::parse(small_table(), kTable);
    table.add_debug_frame(bytes, kAllCode);
    EXPECT_EQ(caller_by(table, kCode), 0x5555u) << "what was known stays";
    (void)caller_by(table, kCode + 0x40);
  }
}

TEST(CfiTable, ARefusedStepChangesNothing) {
  const CfiTable table = CfiTable::parse(small_table(), kTable);
  const auto stack = words({1});
  bool signal = false;
  CfiWork work;
  for (std::uint64_t address : {kCode - 1, kCode + 0x40, kCode + 1}) {  // before, behind, stack too short
    Frame frame;
    frame.set(kReturnAddress, address);
    frame.set(kSp, 0x7000);
    EXPECT_FALSE(table.step(frame, 0, true, {0x7000, stack}, signal, work)) << address;
    EXPECT_EQ(frame.value[kReturnAddress], address);
    EXPECT_EQ(frame.value[kSp], 0x7000u);
  }
}

TEST(CfiTable, AReturnAddressBehindTheLastCallBelongsToTheCaller) {
  const CfiTable table = CfiTable::parse(small_table(), kTable);
  const auto stack = words({0xBB, 0x5555});
  bool signal = false;
  CfiWork work;
  Frame frame;
  frame.set(kReturnAddress, kCode + 0x40);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x7000);
  EXPECT_TRUE(table.step(frame, 0, false, {0x7000, stack}, signal, work));
}

// Any bytes: no crash, no read outside (the sanitizer builds look), an answer in any case.
TEST(CfiTable, HostileBytes) {
  std::mt19937_64 random(1);
  CfiWork work;  // remembers nothing of another table
  const auto stack = words({1, 2, 3, 4, 5, 6, 7, 8});
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> bytes = small_table();
    const std::size_t changes = 1 + random() % 6;
    for (std::size_t i = 0; i < changes; ++i)
      bytes[random() % bytes.size()] = static_cast<std::byte>(random());
    if (round % 3 == 0) bytes.resize(random() % bytes.size());
    const CfiTable table = CfiTable::parse(bytes, kTable);
    for (std::uint64_t offset : {0u, 1u, 4u, 0x20u, 0x3fu}) {
      Frame frame;
      for (unsigned reg = 0; reg < kRegisters; ++reg) frame.set(reg, 0x7000);
      frame.set(kReturnAddress, kCode + offset);
      bool signal = false;
      (void)table.step(frame, 0, true, {0x7000, stack}, signal, work);
    }
  }
}

// A function of `rows` rows: behind each instruction of one byte the stack pointer is 16 bytes lower.
std::vector<std::byte> table_of_rows(std::uint32_t rows) {
  std::vector<std::byte> bytes = small_table();
  bytes.resize(24);  // its common part
  std::vector<std::byte> program;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::uint32_t offset = 8 + 16 * (row + 1);
    test::append(program, {0x41, 0x0E, static_cast<int>(offset % 128 | 128),
                           static_cast<int>(offset / 128 % 128 | 128), static_cast<int>(offset / 128 / 128)});
  }
  test::append32(bytes, static_cast<std::uint32_t>(4 + 8 + 1 + program.size()));
  test::append32(bytes, 28);
  test::append32(bytes, static_cast<std::uint32_t>(kCode - (kTable + bytes.size())));
  test::append32(bytes, rows + 1);
  test::append(bytes, {0});
  bytes.insert(bytes.end(), program.begin(), program.end());
  return bytes;
}

// Whether the stack pointer follows as the row says.
bool steps(const CfiTable& table, std::uint32_t row, CfiWork& work) {
  const std::uint64_t above = 8 + 16 * std::uint64_t{row};
  std::vector<std::byte> stack(above);
  std::memset(stack.data() + above - 8, 0x55, 8);
  Frame frame;
  frame.set(kReturnAddress, kCode + row);
  frame.set(kSp, 0x7000);
  bool signal = false;
  return table.step(frame, 0, true, {0x7000, stack}, signal, work) && frame.value[kSp] == 0x7000 + above;
}

TEST(CfiTable, LongProgramsAreRunOnceForAnAddress) {
  const CfiTable table = CfiTable::parse(table_of_rows(3000), kTable),
                 same = CfiTable::parse(table_of_rows(2999), kTable);
  CfiWork work;
  std::size_t total = 0;
  for (int round = 0; round < 3; ++round) {
    for (const std::uint32_t row : {2990u, 7u, 1500u}) {
      work.begin_walk();
      EXPECT_TRUE(steps(table, row, work)) << row;
      if (work.is_spent()) ++total;
      EXPECT_TRUE(steps(same, row, work)) << row;
    }
  }
  EXPECT_EQ(total, 0u);
}

// Twin: without the budget all of these are run, each time.
TEST(CfiTable, WhatAWalkCostsIsCounted) {
  const CfiTable table = CfiTable::parse(table_of_rows(12'000), kTable);
  ASSERT_EQ(table.entries(), 1u);
  CfiWork work;
  work.begin_walk();
  EXPECT_TRUE(steps(table, 11'000, work));
  EXPECT_TRUE(work.is_spent());
  work.begin_walk();
  EXPECT_TRUE(steps(table, 11'000, work));
  EXPECT_FALSE(work.is_spent()) << "it is remembered";
}

TEST(CfiTable, AProgramThatNoCompilerMakesIsRefused) {
  const CfiTable table = CfiTable::parse(table_of_rows(14'000), kTable);
  EXPECT_EQ(table.entries(), 0u);
  EXPECT_EQ(table.refused(), 1u);
}

}  // namespace
}  // namespace tailor::unwind
