#include "daemon/unwind/cfi_table.h"

#include <gtest/gtest.h>

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
  struct Row {
    std::uint64_t offset, sp_above_return, returns_to;
  };
  // At the first instruction the return address is on top; after the push the caller's rbp is.
  for (const Row& row : {Row{0, 8, 0xBB}, Row{1, 16, 0x5555}}) {
    Frame frame;
    frame.set(kReturnAddress, kCode + row.offset);
    frame.set(kSp, 0x7000);
    frame.set(kBp, 0x1234);
    ASSERT_TRUE(table.step(frame, 0, true, {0x7000, stack}, signal));
    EXPECT_EQ(frame.value[kReturnAddress], row.returns_to);
    EXPECT_EQ(frame.value[kSp], 0x7000 + row.sp_above_return);
    EXPECT_EQ(frame.value[kBp], row.offset == 0 ? 0x1234u : 0xBBu);
    EXPECT_FALSE(signal);
  }
  Frame frame;
  frame.set(kReturnAddress, kCode + 0x20);
  frame.set(kSp, 0x6000);  // anywhere: the frame pointer counts
  frame.set(kBp, 0x7000);
  ASSERT_TRUE(table.step(frame, 0, true, {0x7000, stack}, signal));
  EXPECT_EQ(frame.value[kReturnAddress], 0x5555u);
  EXPECT_EQ(frame.value[kSp], 0x7010u);
}

TEST(CfiTable, ARefusedStepChangesNothing) {
  const CfiTable table = CfiTable::parse(small_table(), kTable);
  const auto stack = words({1});
  bool signal = false;
  for (std::uint64_t address : {kCode - 1, kCode + 0x40, kCode + 1}) {  // before, behind, stack too short
    Frame frame;
    frame.set(kReturnAddress, address);
    frame.set(kSp, 0x7000);
    EXPECT_FALSE(table.step(frame, 0, true, {0x7000, stack}, signal)) << address;
    EXPECT_EQ(frame.value[kReturnAddress], address);
    EXPECT_EQ(frame.value[kSp], 0x7000u);
  }
}

TEST(CfiTable, AReturnAddressBehindTheLastCallBelongsToTheCaller) {
  const CfiTable table = CfiTable::parse(small_table(), kTable);
  const auto stack = words({0xBB, 0x5555});
  bool signal = false;
  Frame frame;
  frame.set(kReturnAddress, kCode + 0x40);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x7000);
  EXPECT_TRUE(table.step(frame, 0, false, {0x7000, stack}, signal));
}

// Any bytes: no crash, no read outside (the sanitizer builds look), an answer in any case.
TEST(CfiTable, HostileBytes) {
  std::mt19937_64 random(1);
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
      (void)table.step(frame, 0, true, {0x7000, stack}, signal);
    }
  }
}

}  // namespace
}  // namespace tailor::unwind
