#include "daemon/process/stub_ranges.h"

#include <gtest/gtest.h>

namespace tailor::process {
namespace {

v1::CodeObject code_with(CodeId id, std::uint64_t address, std::uint64_t size) {
  v1::CodeObject code;
  code.set_id(id);
  code.add_stubs()->set_address(address);
  code.mutable_stubs(0)->set_size(size);
  return code;
}

TEST(StubRanges, AreThereAsLongAsTheirCode) {
  StubRanges stubs(8);
  stubs.add(code_with(1, 0x1000, 12), 100);
  EXPECT_TRUE(stubs.holds(0x1000, 100));
  EXPECT_TRUE(stubs.holds(0x100B, 500));
  EXPECT_FALSE(stubs.holds(0x100C, 500));
  EXPECT_FALSE(stubs.holds(0x0FFF, 500));
  EXPECT_FALSE(stubs.holds(0x1000, 99)) << "before it was loaded";
  stubs.remove(1, 600);
  EXPECT_TRUE(stubs.holds(0x1000, 599));
  EXPECT_FALSE(stubs.holds(0x1000, 600));
  stubs.trim(599);
  EXPECT_EQ(stubs.size(), 1u);
  stubs.trim(600);
  EXPECT_EQ(stubs.size(), 0u);
}

TEST(StubRanges, AnotherCodesComeToTheSamePlace) {
  StubRanges stubs(8);
  stubs.add(code_with(1, 0x1000, 12), 100);
  stubs.remove(1, 200);
  stubs.add(code_with(2, 0x1000, 6), 300);
  EXPECT_TRUE(stubs.holds(0x1008, 150));
  EXPECT_FALSE(stubs.holds(0x1000, 250));
  EXPECT_TRUE(stubs.holds(0x1000, 300));
  EXPECT_FALSE(stubs.holds(0x1008, 300));
}

TEST(StubRanges, ALateUnloadEndsNothingNewer) {
  StubRanges stubs(8);
  stubs.add(code_with(1, 0x1000, 12), 300);
  stubs.remove(1, 200);
  EXPECT_TRUE(stubs.holds(0x1000, 400));
  stubs.remove(1, 500);
  EXPECT_FALSE(stubs.holds(0x1000, 500));
}

TEST(StubRanges, AreBounded) {
  StubRanges stubs(2);
  for (CodeId id = 1; id <= 5; ++id) stubs.add(code_with(id, 0x1000 * id, 6), 0);
  EXPECT_EQ(stubs.size(), 2u);
  EXPECT_EQ(StubRanges::problem_of(code_with(1, 0x1000, StubRanges::kMostBytes)), "");
  EXPECT_NE(StubRanges::problem_of(code_with(1, 0x1000, StubRanges::kMostBytes + 1)), "");
  EXPECT_NE(StubRanges::problem_of(code_with(1, UINT64_MAX, 6)), "");
  v1::CodeObject many;
  for (int i = 0; i < StubRanges::kMostOfACode + 1; ++i) many.add_stubs();
  EXPECT_NE(StubRanges::problem_of(many), "");
}

}  // namespace
}  // namespace tailor::process
