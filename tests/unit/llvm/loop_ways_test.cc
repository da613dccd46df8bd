// Ways through loops, made by hand.
#include "compiler/llvm/loop_ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace tailor::jit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A block whose instructions have these opcodes.
CodeBlock block(std::initializer_list<unsigned> opcodes, std::vector<std::size_t> successors,
                std::size_t loop) {
  CodeBlock out;
  for (const unsigned each : opcodes) {
    llvm::MCInst instruction;
    instruction.setOpcode(each);
    out.code.push_back(instruction);
  }
  out.successors = std::move(successors);
  out.loop = loop;
  return out;
}

std::vector<unsigned> way(const FunctionCode& code, const std::vector<std::uint64_t>& trips,
                          LoopWays::Choice choice) {
  auto pass = LoopWays(code, trips, choice).pass_of(0);
  EXPECT_TRUE(pass.ok()) << pass.error().message;
  std::vector<unsigned> out;
  if (!pass.ok()) return out;
  EXPECT_TRUE(pass->missing.empty());
  for (const llvm::MCInst* each : pass->code) out.push_back(each->getOpcode());
  return out;
}

std::string refusal(const FunctionCode& code, const std::vector<std::uint64_t>& trips) {
  auto pass = LoopWays(code, trips, LoopWays::Choice::kShortest).pass_of(0);
  EXPECT_FALSE(pass.ok());
  return pass.ok() ? std::string() : pass.error().message;
}

TEST(LoopWays, BranchesGiveTwoWays) {
  const FunctionCode code{{block({1}, {1, 2, 4}, 0), block({2}, {3}, 0), block({3, 4, 5}, {3}, 0),
                           block({6}, {0, 4}, 0), block({7}, {}, kNoLoop)},
                          {{0, kNoLoop, ""}}};
  EXPECT_THAT(way(code, {0}, LoopWays::Choice::kShortest), ElementsAre(1, 2, 6));
  EXPECT_THAT(way(code, {0}, LoopWays::Choice::kLongest), ElementsAre(1, 3, 4, 5, 6));
}

TEST(LoopWays, LoopsInsideAreGoneThroughAsOftenAsTheyRun) {
  const FunctionCode code{{block({1}, {1}, 0), block({2}, {2}, 1), block({3}, {1, 3}, 1),
                           block({4}, {0, 4}, 0), block({}, {}, kNoLoop)},
                          {{0, kNoLoop, ""}, {1, 0, ""}}};
  EXPECT_THAT(way(code, {0, 3}, LoopWays::Choice::kShortest), ElementsAre(1, 2, 3, 2, 3, 2, 3, 4));
  EXPECT_THAT(refusal(code, {0, 0}), HasSubstr("a number of passes that the code does not say"));
}

TEST(LoopWays, PassesThatOnlyRepeatAreCounted) {
  // A loop with two loops in it, one of which has no instructions.
  const FunctionCode code{{block({1}, {1}, 0), block({2}, {2}, 1), block({3}, {2, 3}, 2),
                           block({}, {3, 4}, 3), block({5}, {1, 5}, 1), block({6}, {0}, 0)},
                          {{0, kNoLoop, ""}, {1, 0, ""}, {2, 1, ""}, {3, 1, ""}}};
  constexpr std::uint64_t kOuter = 7, kInner = 1'000'000'000;
  const std::vector<std::uint64_t> trips{0, kOuter, kInner, 900};
  LoopWays ways(code, trips, LoopWays::Choice::kLongest);
  const auto pass = ways.pass_of(0);
  ASSERT_TRUE(pass.ok()) << pass.error().message;
  EXPECT_LE(pass->code.size(), 4 * LoopWays::kMostInside);
  EXPECT_EQ(pass->missing.count(0), 0u);
  EXPECT_EQ(pass->missing.count(3), 1u);
  // What is there and what is missing make up the whole. A missing pass has what is missing in it, too.
  const auto count = [](const PassCode& each, unsigned opcode) {
    return static_cast<double>(std::ranges::count(each.code, opcode, &llvm::MCInst::getOpcode));
  };
  const auto of_outer = ways.pass_of(1);
  ASSERT_TRUE(of_outer.ok());
  const double outer_missing = pass->missing.at(1);
  EXPECT_EQ(count(*pass, 5) + outer_missing * count(*of_outer, 5), kOuter);
  EXPECT_EQ(
      count(*pass, 3) + pass->missing.at(2) + outer_missing * (count(*of_outer, 3) + of_outer->missing.at(2)),
      kOuter * kInner);
}

TEST(LoopWays, LongPassesHaveNoAnswer) {
  FunctionCode code{{block({1}, {0}, 0)}, {{0, kNoLoop, ""}}};
  code.blocks[0].code.resize(LoopWays::kMostInstructions + 1);
  EXPECT_THAT(refusal(code, {0}), HasSubstr("more than 20000 instructions"));
  // Loops in loops, each of which is kept with some passes.
  FunctionCode deep;
  constexpr std::size_t kDepth = 100;
  for (std::size_t i = 0; i < kDepth; ++i) {
    deep.blocks.push_back(block({1}, {i + 1}, i));
    deep.loops.push_back({i, i == 0 ? kNoLoop : i - 1, ""});
  }
  deep.blocks.push_back(block({2}, {kDepth - 1, kDepth + 1}, kDepth - 1));
  for (std::size_t i = kDepth - 1; i-- > 0;)
    deep.blocks.push_back(block(
        {3}, i == 0 ? std::vector<std::size_t>{0} : std::vector<std::size_t>{i, deep.blocks.size() + 1}, i));
  EXPECT_THAT(refusal(deep, std::vector<std::uint64_t>(kDepth, 1000)),
              HasSubstr("more than 20000 instructions"));
}

TEST(LoopWays, JumpsThatAreNoLoopHaveNoAnswer) {
  // 1 and 2 jump to each other, and both are entered from 0.
  const FunctionCode code{{block({1}, {1, 2}, 0), block({2}, {2, 0}, 0), block({3}, {1, 0}, 0)},
                          {{0, kNoLoop, ""}}};
  EXPECT_THAT(refusal(code, {0}), HasSubstr("jumps that form no loop"));
  // 2 is in a loop that begins at 1.
  const FunctionCode entered{{block({1}, {2}, 0), block({2}, {2}, 1), block({3}, {1, 0}, 1)},
                             {{0, kNoLoop, ""}, {1, 0, ""}}};
  EXPECT_THAT(refusal(entered, {0, 2}), HasSubstr("jumps that form no loop"));
}

}  // namespace
}  // namespace tailor::jit
