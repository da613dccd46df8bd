// Ways through loops, made by hand.
#include "compiler/llvm/loop_ways.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  for (const llvm::MCInst* each : *pass) out.push_back(each->getOpcode());
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
  EXPECT_THAT(refusal(code, {0, 20'000}), HasSubstr("more than 20000 instructions"));
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
